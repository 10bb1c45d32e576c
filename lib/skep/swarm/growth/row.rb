# frozen_string_literal: true

module Skep
  class Swarm
    class Growth
      # The last six stretches of one length in which something was seen.
      class Row
        SIZE = 6

        def initialize(seconds) #: (Float) -> void
          @seconds = seconds
          @stretches = []
        end

        def keep = @stretches.map(&:to_a) #: () -> Array[Array[Numeric]]

        def recall(plain) #: (Array[Array[Numeric]]) -> void
          @stretches = plain.map { |numbers| Stretch.new(*numbers) }
        end

        def add(bytes, age) #: (Integer, Float) -> void
          at = (age / @seconds).floor * @seconds
          return @stretches.last.add(bytes) if @stretches.any? && @stretches.last.at == at

          @stretches << Stretch.new(at, bytes, bytes)
          @stretches.shift if @stretches.size > SIZE + 1
        end

        # The last one isn't over.
        def stretches = @stretches.size > SIZE ? @stretches.first(SIZE) : nil
      end
      private_constant :Row
    end
  end
end
