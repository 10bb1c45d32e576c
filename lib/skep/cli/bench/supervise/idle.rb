# frozen_string_literal: true

# How often a second the processes of a keeper wake up that has nothing to do: the supervisor, a
# worker, and what else it keeps (a mold, a monitor), all of those together.
#
#   Idle.new(kept, seconds: 10).figures
#   # => {"supervisor" => 0.1, "worker" => 0.1, "others" => 0.0}
module Skep
  module CLI
    class Bench
      class Supervise
        class Idle
          def initialize(kept, seconds:) #: (Keeping, seconds: Numeric) -> void
            @kept = kept
            @seconds = seconds
          end

          def figures #: () -> Hash[String, Float]
            @kept.await(@kept.wishes[:workers])
            3.times { @kept.rest }
            before = wakes
            @kept.settle(@seconds)
            before.merge(wakes) { |_, earlier, later| (later - earlier) / @seconds }
          end

          private

          def wakes
            workers = @kept.workers
            { "supervisor" => Kin.wakes(@kept.pid).to_f,
              "worker" => workers.sum { |pid| Kin.wakes(pid) }.fdiv(workers.size),
              "others" => @kept.others.sum { |pid| Kin.wakes(pid) }.to_f }
          end
        end
      end
    end
  end
end
