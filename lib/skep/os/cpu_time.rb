# frozen_string_literal: true

require "etc"

# How many processors this process may use, and how long a process has run on them so far, all its
# threads together, in user and in kernel mode. What it has reaped isn't counted.
#
#   Skep::OS::CpuTime.count          # => 2
#   Skep::OS::CpuTime.seconds(pid)   # => 12.34; nil once it is dead, and where there is no /proc
#
# Source: proc(5), /proc/[pid]/stat; sched_getaffinity(2), which Etc.nprocessors asks.
module Skep
  module OS
    module CpuTime
      USER = 11 # place of utime among the fields from the state on
      HERTZ = Etc.sysconf(Etc::SC_CLK_TCK)
      private_constant :USER, :HERTZ

      module_function

      # Processors of its affinity, and no more than the CPU quota of its control groups, which is
      # rounded up.
      #
      #: (?affinity: Integer, ?quota: Float?) -> Integer
      def count(affinity: Etc.nprocessors, quota: Cgroup.cpu_quota)
        [affinity, *quota&.ceil].min.clamp(1..)
      end

      #: (Integer pid) -> Float?
      def seconds(pid)
        text = ProcessState.read("/proc/#{pid}/stat") or return
        text[(text.rindex(")") + 2)..].split[USER, 2].sum(&:to_i).fdiv(HERTZ)
      end
    end
  end
end
