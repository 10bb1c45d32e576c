# frozen_string_literal: true

# The descendants of a process and their activity, from /proc.
#
#   ProcessTree.children(pid)      # => [pid, …]
#   ProcessTree.below(pid)         # => children, theirs, and so on
#   ProcessTree.wakes(pid)         # how often its threads went to sleep and woke up
#   ProcessTree.cpu(pid)           # CPU seconds of all its threads, including ended ones
#
# A process that has exited has no children and zero figures.
# Sources: proc(5), clock_getcpuclockid(3).
module Skep
  module Benchmarks
    module ProcessTree
      SCHEDULER = 2 # the clock of a process' scheduled CPU time
      private_constant :SCHEDULER

      class << self
        def children(pid)
          tasks(pid, "children").flat_map(&:split).map(&:to_i)
        end

        def below(pid)
          children(pid).flat_map { |child| [child, *below(child)] }
        end

        def wakes(pid)
          tasks(pid, "status").sum { |text| text[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i }
        end

        def cpu(pid)
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
        rescue Errno::ESRCH # the process ended while it was listed
          []
        end
      end
    end
  end
end
