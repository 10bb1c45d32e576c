# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Items that come one after the other, perhaps for ever: no more are taken than nodes have
      # room for. See Source. They are taken in the caller's thread; while it waits for the next
      # item it hears no results.
      class Streamed
        # Seconds after which a chunk that isn't full is handed out as it is.
        LONGEST = 0.001
        private_constant :LONGEST

        attr_reader :size #: Integer?

        #: (Enumerator, Integer? size) -> void
        def initialize(items, size)
          @items = items
          @size = size
          @next = 0
          @ahead = []
          @dry = false
        end

        #: (Integer count) -> Chunk?
        def take(count)
          return unless more?

          items = gather(count, OS.now + LONGEST)
          @next += items.size
          Chunk.new(@next - items.size, items)
        end

        #: () -> bool
        def more?
          fetch if @ahead.empty? && !@dry
          !@ahead.empty?
        end

        #: () -> bool
        def dry? = @dry && @ahead.empty?

        #: () -> nil
        def left = nil

        #: (Chunk) -> String
        def pack(chunk) = Cargo.pack_items(chunk)

        #: (Integer from, Integer count, String cargo) -> Array[untyped]
        def unpack(_from, _count, cargo) = Cargo.load(cargo)

        private

        #: (Integer count, Float deadline) -> Array[untyped]
        def gather(count, deadline)
          items = @ahead.shift(count)
          items << @items.next while items.size < count && OS.now < deadline
          items
        rescue StopIteration
          @dry = true
          items
        end

        #: () -> void
        def fetch
          @ahead << @items.next
        rescue StopIteration
          @dry = true
        end
      end
      private_constant :Streamed
    end
  end
end
