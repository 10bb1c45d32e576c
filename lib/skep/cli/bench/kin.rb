# frozen_string_literal: true

# What /proc says about the descendants of a process, and about what processes do.
#
#   Kin.children(pid)      # => [pid, …]
#   Kin.below(pid)         # => children, theirs, and so on
#   Kin.wakes(pid)         # how often its threads went to sleep, and so woke up
#   Kin.cpu(pid)           # seconds that its threads ran; those that have ended aren't counted
#
# A process that has gone has no children, and never did anything. Source: proc(5).
module Skep
  module CLI
    class Bench
      module Kin
        NANOSECOND = 1e-9
        private_constant :NANOSECOND

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
            tasks(pid, "schedstat").sum { |text| text.to_i } * NANOSECOND
          end

          private

          def tasks(pid, file)
            Dir.glob("/proc/#{pid}/task/*/#{file}").filter_map do |path|
              File.read(path)
            rescue Errno::ENOENT, Errno::ESRCH # the thread has ended
              nil
            end
          end
        end
      end
    end
  end
end
