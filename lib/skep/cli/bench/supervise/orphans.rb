# frozen_string_literal: true

# Seconds from kill -9 of a supervisor to the end of all that was below it.
#
#   Orphans.new(kept, patience: 40).healthy
#   Orphans.new(kept, patience: 40).stuck     # its workers, in C with the GVL; they take orders
module Skep
  module CLI
    class Bench
      class Supervise
        class Orphans
          def initialize(kept, patience:) #: (Keeping, patience: Numeric) -> void
            @kept = kept
            @patience = patience
          end

          def healthy #: () -> Float
            @kept.await(@kept.wishes[:workers])
            gone
          end

          def stuck #: () -> Float
            @kept.await(@kept.wishes[:workers]).each { |worker| @kept.stick(worker.pid) }
            gone
          end

          private

          def gone
            @kept.rest
            all = @kept.below.map { |pid| Skep.pidfd(pid) }
            @kept.end!(:KILL)
            @kept.gone(all, @patience) or
              raise Contender::Never, "#{all.count(&:alive?)} of #{all.size} processes never " \
                                      "within #{@patience} s"
          ensure
            all&.each(&:close)
          end
        end
      end
    end
  end
end
