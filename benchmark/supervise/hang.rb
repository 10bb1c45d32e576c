# frozen_string_literal: true

# Seconds from the moment when a worker hangs to its replacement's first line. It is stopped by
# SIGSTOP, or hangs in C with the GVL, so that none of its threads runs.
#
#   Hang.new(run, patience: 40).stopped
#   Hang.new(run, patience: 40).stuck     # of workers that take orders
module Skep
  module Benchmarks
    class Supervise
      class Hang
        def initialize(run, patience:)
          @run = run
          @patience = patience
        end

        def stopped = replaced { |pid| @run.signal(pid, :STOP) }
        def stuck = replaced { |pid| @run.stick(pid) }

        private

        def replaced
          victim = @run.await(@run.wishes[:workers]).first.pid
          @run.rest
          began = OS.now
          yield victim
          come = @run.arrival(@patience) or
            raise Subject::Never, "never within #{@patience} s"
          come.at - began
        end
      end
    end
  end
end
