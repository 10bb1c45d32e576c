# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Items that are all in memory: a node has them by its fork and needs to be told their places
      # only. See Source.
      class Listed
        attr_reader :size #: Integer

        # Ours, whatever a hook does with the caller's: nodes forked later must see the same.
        #
        #: (Array[untyped]) -> void
        def initialize(items)
          @items = items.dup.freeze
          @size = @items.size
          @next = 0
        end

        #: (Integer count) -> Chunk?
        def take(count)
          return if dry?

          chunk = Chunk.new(@next, @items[@next, count])
          @next += chunk.size
          chunk
        end

        #: () -> bool
        def more? = !dry?

        #: () -> bool
        def dry? = @next >= @size

        #: () -> Integer
        def left = @size - @next

        #: () -> void
        def close; end

        # What a node must be sent to know the chunk's items: nothing.
        #
        #: (Chunk) -> nil
        def pack(_chunk) = nil

        # The same from the other end.
        #
        #: (Integer from, Integer count, String? cargo) -> Array[untyped]
        def unpack(from, count, _cargo) = @items[from, count]
      end
      private_constant :Listed
    end
  end
end
