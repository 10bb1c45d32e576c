# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Items that are handed out together, and the place of the first.
      #
      #   chunk = Chunk.new(40, items)
      #   chunk.halves(3)    # => [the first three, the rest]
      #   chunk.split(44)    # => [those before item 44, it alone, those after it]
      class Chunk
        attr_reader :from  #: Integer
        attr_reader :items #: Array[untyped]

        #: (Integer from, Array[untyped] items) -> void
        def initialize(from, items)
          @from = from
          @items = items
        end

        #: () -> Integer
        def size = @items.size

        #: (Integer index) -> untyped
        def item(index) = @items[index - @from]

        #: (Integer index) -> bool
        def cover?(index) = index >= @from && index < @from + size

        #: (Integer count) -> [Chunk, Chunk]
        def halves(count) = [part(0, count), part(count, size)]

        #: (Integer index) -> Array[Chunk]
        def split(index)
          at = index - @from
          [part(0, at), part(at, at + 1), part(at + 1, size)].select { |part| part.size.positive? }
        end

        private

        #: (Integer first, Integer past) -> Chunk
        def part(first, past) = Chunk.new(@from + first, @items[first...past])
      end
      private_constant :Chunk
    end
  end
end
