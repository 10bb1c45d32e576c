# frozen_string_literal: true

module Skep
  module Work
    class Map
      # How many items a node gets at a time, by what it took for the last. Pure.
      #
      #   pace = Pace.new
      #   pace.size                               # => 1
      #   pace.learn(1, seconds: 0.00001, bytes: 20)
      #   pace.size                               # => 64
      #   pace.least                              # => 25, what isn't worth being made smaller
      #   pace.ahead?                             # may the next chunk wait at the node?
      #
      # Short chunks cost messages; long ones keep others waiting at the end, and so does a chunk
      # that waits behind a long one.
      class Pace
        SHORT = 0.002
        LONG = 0.008
        LEAST = 0.00025
        LEAPS = [64, 8, 2].freeze
        HEAVY = 1 << 19
        private_constant :SHORT, :LONG, :LEAST, :LEAPS, :HEAVY

        attr_reader :size  #: Integer
        attr_reader :least #: Integer

        #: () -> void
        def initialize
          @size = @least = 1
          @ahead = false
        end

        #: () -> bool
        def ahead? = @ahead

        #: (Integer count, seconds: Float, bytes: Integer) -> void
        def learn(count, seconds:, bytes:)
          return if count.zero?

          @size = [(count * factor(seconds, bytes)).to_i, 1].max
          @least = seconds.positive? ? [(count * LEAST / seconds).to_i, 1].max : count
          @ahead = seconds <= LONG
        end

        private

        # Doubled under 2 ms; far under it there is no need to go by steps.
        #
        #: (Float seconds, Integer bytes) -> Numeric
        def factor(seconds, bytes)
          return 0.5 if seconds > LONG || bytes > HEAVY

          LEAPS.find { |leap| seconds < SHORT * 2 / leap && bytes < HEAVY / leap } || 1
        end
      end
      private_constant :Pace
    end
  end
end
