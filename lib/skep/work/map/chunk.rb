# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Consecutive items that are sent to a worker together, and the index of the first.
      #
      #   chunk = Chunk.new(40, items)
      #   chunk.split_after(3)     # => [the first three, the rest]
      #   chunk.slices_of(10)      # => chunks of at most ten items
      #   chunk.isolate(44)        # => [the items before item 44, item 44 alone, those after it]
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
        def include?(index) = index >= @from && index < @from + size

        #: (Integer count) -> [Chunk, Chunk]
        def split_after(count) = [part(0, count), part(count, size)]

        #: (Integer count) -> Array[Chunk]
        def slices_of(count)
          (0...size).step(count).map { |first| part(first, first + count) }
        end

        #: (Integer index) -> Array[Chunk]
        def isolate(index)
          at = index - @from
          [part(0, at), part(at, at + 1), part(at + 1, size)].select { |part| part.size.positive? }
        end

        private

        #: (Integer first, Integer after) -> Chunk
        def part(first, after) = Chunk.new(@from + first, @items[first...after])
      end
      private_constant :Chunk
    end
  end
end
