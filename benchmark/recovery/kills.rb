# frozen_string_literal: true

# Kills workers one after the other, the oldest first, and measures the time to each replacement.
#
#   Kills.new(run, most: 200, seconds: 30).figures
#   # => {"ms" => 2.4, "worst" => 5.1, "kills" => 200}
#
# The time is from just before the signal to the replacement's first line of work, both by
# CLOCK_MONOTONIC. At the deadline it ends, so it kills fewer workers of a slow server.
module Skep
  module Benchmarks
    class Recovery
      class Kills
        PATIENCE = 40.0
        private_constant :PATIENCE

        def initialize(run, most:, seconds:, pause: 0.02)
          @run, @most, @seconds, @pause = run, most, seconds, pause
        end

        def figures
          times = run.map { |each| each * 1000 }
          { "ms" => Statistics.median(times), "worst" => times.max, "kills" => times.size }
        end

        # Returns seconds, one for each kill.
        def run
          pids = @run.await(@run.wishes[:workers]).map(&:pid)
          deadline = OS.now + @seconds
          times = []
          while times.empty? || (times.size < @most && OS.now < deadline)
            @run.settle(@pause).each { |late| pids << late.pid }
            times << replacement(pids)
          end
          times
        end

        private

        def replacement(pids)
          victim = Skep.pidfd(pids.shift)
          began = OS.now
          victim.signal(:KILL)
          come = @run.arrival(PATIENCE) or
            raise Subject::Never, "not replaced within #{PATIENCE.round} s"
          pids << come.pid
          come.at - began
        ensure
          victim.close
        end
      end
    end
  end
end
