# frozen_string_literal: true

module Skep
  class Swarm
    class Growth
      # All that was seen, in at most a dozen stretches: when the time of the last is over, each two
      # become one of twice the length.
      class Life
        include Kept

        KEPT = %i[seconds ranges].freeze
        STRETCHES = 12
        private_constant :STRETCHES

        def initialize #: () -> void
          @seconds = 1.0
          @ranges = []
        end

        def add(bytes, age) #: (Integer, Float) -> void
          halve while age >= STRETCHES * @seconds
          index = (age / @seconds).floor
          least, most = @ranges[index]
          @ranges[index] = [[least, bytes].compact.min, [most, bytes].compact.max]
        end

        def stretches #: () -> Array[Stretch]
          @ranges[0...-1].each_with_index.filter_map do |range, index|
            Stretch.new(index * @seconds, *range) if range
          end
        end

        private

        def halve
          @seconds *= 2
          @ranges = @ranges.each_slice(2).map do |pair|
            known = pair.compact
            [known.map(&:first).min, known.map(&:last).max] if known.any?
          end
        end
      end
      private_constant :Life
    end
  end
end
