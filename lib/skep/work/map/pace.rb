# frozen_string_literal: true

module Skep
  module Work
    class Map
      # How many items a node gets at a time, by what it took for the last. Pure.
      #
      #   pace = Pace.new
      #   pace.size                               # => 1
      #   pace.learn(1, seconds: 0.00001, bytes: 20)
      #   pace.size                               # => 8
      #   pace.ahead?                             # may the next chunk wait at the node?
      #
      # Short chunks cost messages; long ones keep others waiting at the end, and so does a chunk
      # that waits behind a long one.
      class Pace
        SHORT = 0.002
        LONG = 0.008
        LEAP = 8
        HEAVY = 4 << 20
        private_constant :SHORT, :LONG, :LEAP, :HEAVY

        attr_reader :size #: Integer

        #: () -> void
        def initialize
          @size = 1
          @ahead = false
        end

        #: () -> bool
        def ahead? = @ahead

        #: (Integer count, seconds: Float, bytes: Integer) -> void
        def learn(count, seconds:, bytes:)
          return if count.zero?

          @size = [(count * factor(seconds, bytes)).to_i, 1].max
          @ahead = seconds <= LONG
        end

        private

        #: (Float seconds, Integer bytes) -> Numeric
        def factor(seconds, bytes)
          return 0.5 if seconds > LONG || bytes > HEAVY
          return LEAP if seconds < SHORT / LEAP && bytes < HEAVY / LEAP

          seconds < SHORT && bytes < HEAVY / 2 ? 2 : 1
        end
      end
      private_constant :Pace
    end
  end
end
