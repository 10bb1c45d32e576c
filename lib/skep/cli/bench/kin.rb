# frozen_string_literal: true

# What /proc says about the descendants of a process, and about what processes do.
#
#   Kin.children(pid)      # => [pid, …]
#   Kin.below(pid)         # => children, theirs, and so on
#   Kin.wakes(pid)         # how often its threads went to sleep, and so woke up
#   Kin.cpu(pid)           # seconds that it ran, all its threads, those that have ended too
#
# A process that has gone has no children, and never did anything.
# Sources: proc(5), clock_getcpuclockid(3).
module Skep
  module CLI
    class Bench
      module Kin
        SCHEDULER = 2 # the clock of what the scheduler counted, of a process
        private_constant :SCHEDULER

        class << self
          def children(pid) #: (Integer | String) -> Array[Integer]
            tasks(pid, "children").flat_map(&:split).map(&:to_i)
          end

          def below(pid) #: (Integer | String) -> Array[Integer]
            children(pid).flat_map { |child| [child, *below(child)] }
          end

          def wakes(pid) #: (Integer) -> Integer
            tasks(pid, "status").sum { |text| text[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i }
          end

          def cpu(pid) #: (Integer) -> Float
            Process.clock_gettime((~pid << 3) | SCHEDULER)
          rescue Errno::EINVAL # there is no such process
            0.0
          end

          private

          def tasks(pid, file)
            Dir.glob("/proc/#{pid}/task/*/#{file}").filter_map do |path|
              File.binread(path) # a thread's name is any bytes
            rescue Errno::ENOENT, Errno::ESRCH # the thread has ended
              nil
            end
          rescue Errno::ESRCH # the process has, while it was listed
            []
          end
        end
      end
    end
  end
end
