# frozen_string_literal: true

# Judges whether a node still makes progress. Pure: facts and a time in, a verdict out.
#
#   liveness = Liveness.new(timeout: 30.0)
#   liveness.verdict(beat_at: 100.0, busy_until: 0.0, now: 120.0)
#   # => 10.0: fine, look again in so many seconds
#   liveness.verdict(beat_at: 100.0, busy_until: 0.0, now: 131.0)
#   # => :hung
module Skep
  class Swarm
    class Liveness
      def initialize(timeout:) #: (timeout: Float) -> void
        @timeout = timeout
      end

      # All times monotonic seconds; busy_until 0 where nothing was declared.
      #: (beat_at: Float, busy_until: Float, now: Float) -> (Float | :hung)
      def verdict(beat_at:, busy_until:, now:)
        deadline = [beat_at + @timeout, busy_until].max
        now >= deadline ? :hung : deadline - now
      end
    end
  end
end
