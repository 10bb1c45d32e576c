# frozen_string_literal: true

# Decides whether a node's private memory (USS) exceeds `memory_limit`, and when to look at it
# again. Pure: takes facts and a time, returns a decision.
#
#   policy = MemoryLimitPolicy.new(limit: 512 << 20)
#   policy.decide(Facts.new(uss_min: 100 << 20, uss_max: 300 << 20, rate: 0.0, ready_at: 10.0,
#                           measurable_at: 0.0), 70.0)
#   # => 6.0: within the limit, look again in 6 s
#   # => :measure: the bounds don't tell, the node must count its private pages
#   # => :replace: over the limit; :stop: so far over that there is no time for a successor to boot
#
# Cheap readings bound the USS from both sides (Statm, NodeMemory), and mostly they are enough. The
# node counts its pages only if the limit lies between the bounds, as with a partly shared heap.
module Skep
  class Swarm
    module Memory
      class MemoryLimitPolicy
        # uss_min, uss_max: bounds of the USS in bytes. rate: the fastest recent growth, bytes a
        # second. ready_at, measurable_at: monotonic seconds; the node may count its pages from
        # measurable_at on. still: true if it hasn't grown since the last look.
        Facts = Struct.new(:uss_min, :uss_max, :rate, :ready_at, :measurable_at, :still,
                           keyword_init: true)

        HARD = 1.5 # times the limit
        SHORTEST = 0.25
        LONGEST = 15.0
        YOUNG = 10.0 # the pause is this part of the node's age, or of the longest pause
        STILL = 2.0  # for a node that doesn't grow it is this many times its age
        private_constant :SHORTEST, :YOUNG, :STILL

        attr_reader :limit #: Integer?
        attr_reader :longest #: Float

        # limit: nil for none. longest: seconds between two looks at a node that doesn't grow.
        def initialize(limit:, longest: LONGEST) #: (limit: Integer?, ?longest: Float) -> void
          @limit = limit
          @longest = longest
        end

        def decide(facts, now) #: (Facts, Float) -> (Float | :measure | :replace | :stop)
          return pause(facts, now) unless limit
          return :stop if facts.uss_min > limit * HARD
          return :replace if facts.uss_min > limit

          doubtful = facts.uss_max > limit
          return :measure if doubtful && now >= facts.measurable_at

          left = doubtful ? facts.measurable_at - now : longest
          [pause(facts, now), [left, SHORTEST].max].min
        end

        private

        # Looks at a growing node twice before it can reach the limit, and often at a young one.
        def pause(facts, now)
          age = now - facts.ready_at
          young = facts.still ? age * STILL : [age, longest].max / YOUNG
          [[longest, young, half_to_limit(facts)].min, SHORTEST].max
        end

        # Returns half of the seconds in which the node reaches the limit at its present rate.
        def half_to_limit(facts)
          limit && facts.rate.positive? ? (limit - facts.uss_min) / facts.rate / 2 : longest
        end
      end
    end
  end
end
