# frozen_string_literal: true

# Seconds from the moment when a worker does nothing any more to its replacement's first line: it is
# stopped by SIGSTOP, or stuck in C with the GVL, so that none of its threads runs.
#
#   Hang.new(kept, patience: 40).stopped
#   Hang.new(kept, patience: 40).stuck     # of workers that take orders
module Skep
  module CLI
    class Bench
      class Supervise
        class Hang
          def initialize(kept, patience:) #: (Keeping, patience: Numeric) -> void
            @kept = kept
            @patience = patience
          end

          def stopped = replaced { |pid| @kept.signal(pid, :STOP) } #: () -> Float
          def stuck = replaced { |pid| @kept.stick(pid) } #: () -> Float

          private

          def replaced
            victim = @kept.await(@kept.wishes[:workers]).first.pid
            @kept.rest
            began = OS.now
            yield victim
            come = @kept.arrival(@patience) or
              raise Contender::Never, "never within #{@patience} s"
            come.at - began
          end
        end
      end
    end
  end
end
