# frozen_string_literal: true

# Seconds from the kill -9 of a supervisor to the exit of all its descendants.
#
#   Orphans.new(run, patience: 40).healthy
#   Orphans.new(run, patience: 40).stuck     # its workers, in C with the GVL; they take orders
#   Orphans.new(run, patience: 40).kill      # its workers, whatever they do
module Skep
  module Benchmarks
    class Supervise
      class Orphans
        def initialize(run, patience:)
          @run = run
          @patience = patience
        end

        def healthy
          @run.await(@run.wishes[:workers])
          kill
        end

        def stuck
          @run.await(@run.wishes[:workers]).each { |worker| @run.stick(worker.pid) }
          kill
        end

        # Kills the supervisor of workers that have begun.
        def kill
          @run.rest
          all = @run.below.map { |pid| Skep.pidfd(pid) }
          @run.end!(:KILL)
          @run.seconds_to_exit(all, @patience) or
            raise Subject::Never, "#{all.count(&:alive?)} of #{all.size} processes never " \
                                    "within #{@patience} s"
        ensure
          all&.each(&:close)
        end
      end
    end
  end
end
