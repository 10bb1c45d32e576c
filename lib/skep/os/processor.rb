# frozen_string_literal: true

require "etc"

# How long a process has run on processors so far, all its threads together, in user and in kernel
# mode. What it has reaped isn't counted.
#
#   Skep::OS::Processor.seconds(pid)   # => 12.34; nil once it is dead, and where there is no /proc
#
# Source: proc(5), /proc/[pid]/stat.
module Skep
  module OS
    module Processor
      USER = 11 # place of utime among the fields from the state on
      HERTZ = Etc.sysconf(Etc::SC_CLK_TCK)
      private_constant :USER, :HERTZ

      module_function

      #: (Integer pid) -> Float?
      def seconds(pid)
        text = Vitals.read("/proc/#{pid}/stat") or return
        text[(text.rindex(")") + 2)..].split[USER, 2].sum(&:to_i).fdiv(HERTZ)
      end
    end
  end
end
