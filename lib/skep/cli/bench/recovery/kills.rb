# frozen_string_literal: true

# Kills workers one after the other, the eldest first, and times how soon each is replaced.
#
#   Kills.new(kept, most: 200, seconds: 30).figures
#   # => {"ms" => 2.4, "worst" => 5.1, "kills" => 200}
#
# From just before the signal, by this process' clock, to the replacement's first line of work, by
# its own: CLOCK_MONOTONIC both. A slow keeper is killed fewer workers of: at the deadline it ends.
module Skep
  module CLI
    class Bench
      class Recovery
        class Kills
          PATIENCE = 40.0
          private_constant :PATIENCE

          #: (Keeping, most: Integer, seconds: Numeric, ?pause: Numeric) -> void
          def initialize(kept, most:, seconds:, pause: 0.02)
            @kept, @most, @seconds, @pause = kept, most, seconds, pause
          end

          def figures #: () -> Hash[String, Float]
            times = run.map { |each| each * 1000 }
            { "ms" => Statistics.median(times), "worst" => times.max, "kills" => times.size }
          end

          # Seconds, one a kill.
          def run #: () -> Array[Float]
            pids = @kept.await(@kept.wishes[:workers]).map(&:pid)
            deadline = OS.now + @seconds
            times = []
            while times.empty? || (times.size < @most && OS.now < deadline)
              @kept.settle(@pause).each { |late| pids << late.pid }
              times << replacement(pids)
            end
            times
          end

          private

          def replacement(pids)
            victim = Skep.pidfd(pids.shift)
            began = OS.now
            victim.signal(:KILL)
            come = @kept.arrival(PATIENCE) or
              raise Contender::Never, "not replaced within #{PATIENCE.round} s"
            pids << come.pid
            come.at - began
          ensure
            victim.close
          end
        end
      end
    end
  end
end
