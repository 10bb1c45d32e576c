# frozen_string_literal: true

# Judges whether a node has lived long enough. Pure: facts and a time in, a verdict out.
#
#   judge = MaxLifetime.new(3600.0)
#   part = judge.part                               # drawn once for each life, 0.9 to 1.1
#   judge.verdict(ready_at: 10.0, part: 1.05, now: 1000.0)
#   # => 2790.0: seconds left, or :replace
#
# Lives differ by up to a tenth either way, so that nodes forked together don't end together.
module Skep
  class Swarm
    class MaxLifetime
      JITTER = 0.1
      private_constant :JITTER

      def initialize(seconds, random: Random) #: (Float, ?random: untyped) -> void
        @seconds = seconds
        @random = random
      end

      def part = 1 + (JITTER * ((2 * @random.rand) - 1)) #: () -> Float

      #: (ready_at: Float, part: Float, now: Float) -> (Float | :replace)
      def verdict(ready_at:, part:, now:)
        left = ready_at + (@seconds * part) - now
        left.positive? ? left : :replace
      end
    end
  end
end
