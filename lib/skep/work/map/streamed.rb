# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Items that come one after the other, perhaps for ever: no more are taken than nodes have
      # room for. See Source. They are taken in the caller's thread, in a fiber of its own; while it
      # waits for the next item it hears no results.
      class Streamed
        # Seconds in which a chunk is gathered; a source that takes longer for one item gives them
        # one by one.
        LONGEST = 0.001
        END_OF_ITEMS = Object.new.freeze
        Abandoned = Class.new(Exception) # rubocop:disable Lint/InheritException -- none of theirs
        private_constant :LONGEST, :END_OF_ITEMS, :Abandoned

        attr_reader :size #: Integer?

        # The block tells whether an item could be had without waiting, if anybody can.
        #
        #: (_Each items, ?Integer? size) ?{ () -> bool } -> void
        def initialize(items, size = nil, &ready)
          @size = size
          @ready = ready
          @next = 0
          @ahead = []
          @dry = @slow = false
          @items = fiber(items)
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

        # Lets the items' own `ensure` run, that closes a file or a cursor.
        #
        #: () -> void
        def close
          @items.raise(Abandoned) if @items.alive? && @begun
        end

        #: (Chunk) -> String
        def pack(chunk) = Cargo.pack_items(chunk)

        #: (Integer from, Integer count, String cargo) -> Array[untyped]
        def unpack(_from, _count, cargo) = Cargo.load(cargo)

        private

        # Blocking: a Fiber scheduler would take its waits for ours.
        #
        #: (_Each) -> Fiber
        def fiber(items)
          Fiber.new(blocking: true) do
            items.each { |*item| Fiber.yield(item.size > 1 ? item : item.first) }
            END_OF_ITEMS
          rescue Abandoned
            END_OF_ITEMS
          end
        end

        #: (Integer count, Float deadline) -> Array[untyped]
        def gather(count, deadline)
          fetch while @ahead.size < count && !@dry && !@slow && ready? && OS.now < deadline
          @ahead.shift(count)
        end

        #: () -> bool
        def ready? = @ready ? @ready.call : true

        #: () -> void
        def fetch
          began = OS.now
          @begun = true
          item = @items.resume
          @slow = OS.now - began > LONGEST
          item.equal?(END_OF_ITEMS) ? @dry = true : @ahead << item
        end
      end
      private_constant :Streamed
    end
  end
end
