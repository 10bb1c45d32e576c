# frozen_string_literal: true

# Judges whether a node has too much memory of its own (USS), and when to look again.
# Pure: facts and a time in, a verdict out.
#
#   judge = MemoryLimitPolicy.new(limit: 512 << 20)
#   judge.verdict(Facts.new(least: 100 << 20, most: 300 << 20, rate: 0.0, ready_at: 10.0,
#                           measurable_at: 0.0), 70.0)
#   # => 6.0: fine, look again in so many seconds
#   # => :measure: it can't be told without counting its private pages
#   # => :replace: over the limit; :stop: so far over that nothing is to be waited for
#
# What is cheap to read bounds the USS from both sides (Statm, NodeMemory): most looks need
# no more. Only what lies between, a heap that is still shared in part, must be measured.
module Skep
  class Swarm
    module Memory
      class MemoryLimitPolicy
        # least, most: bytes between which the USS is; rate: the fastest growth lately,
        # bytes/second; ready_at, and measurable_at from when on it may be measured: monotonic
        # seconds; still: hasn't it grown since the last look?
        Facts = Struct.new(:least, :most, :rate, :ready_at, :measurable_at, :still,
                           keyword_init: true)

        HARD = 1.5 # times the limit
        SHORTEST = 0.25
        LONGEST = 15.0
        YOUNG = 10.0 # a node is looked at again after that part of its age, or of the longest pause
        STILL = 2.0  # one that keeps still after so many times its age
        private_constant :SHORTEST, :YOUNG, :STILL

        attr_reader :limit #: Integer?
        attr_reader :longest #: Float

        # limit: nil for none; longest: the seconds between two looks at a node that keeps still.
        def initialize(limit:, longest: LONGEST) #: (limit: Integer?, ?longest: Float) -> void
          @limit = limit
          @longest = longest
        end

        def verdict(facts, now) #: (Facts, Float) -> (Float | :measure | :replace | :stop)
          return seconds(facts, now) unless limit
          return :stop if facts.least > limit * HARD
          return :replace if facts.least > limit

          doubtful = facts.most > limit
          return :measure if doubtful && now >= facts.measurable_at

          left = doubtful ? facts.measurable_at - now : longest
          [seconds(facts, now), [left, SHORTEST].max].min
        end

        private

        # Twice before it could be there, at the rate it had; often while it is young.
        def seconds(facts, now)
          age = now - facts.ready_at
          young = facts.still ? age * STILL : [age, longest].max / YOUNG
          [[longest, young, reach(facts)].min, SHORTEST].max
        end

        def reach(facts)
          limit && facts.rate.positive? ? (limit - facts.least) / facts.rate / 2 : longest
        end
      end
    end
  end
end
