# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Takes the items of a map: all at once where they are a finite collection in memory
      # (ArraySource), one at a time otherwise (StreamSource).
      #
      #   source = ItemSource.of(items)
      #   source.take(100)    # => a Chunk of at most 100 items, nil after the last item
      #   source.more?        # is there another item? May wait for it
      #   source.exhausted?   # have all items been taken? Never waits
      #   source.size         # => Integer, or nil if it is unknown
      #   source.remaining    # => how many items haven't been taken, or nil if it is unknown
      #   source.dump(chunk)  # => what a worker needs to load the chunk's items: bytes or nil
      #   source.close        # no more items will be taken
      #
      # A Queue is popped until it is closed and empty. An object that responds to `call` is called
      # for each item. Both may end with Skep::Stop, the class itself, in place of an item.
      module ItemSource
        COLLECTIONS = [Array, Hash, Struct].freeze
        private_constant :COLLECTIONS

        def self.of(items)
          return ArraySource.new(items.to_a) if collection?(items)
          return StreamSource.new(called(items)) { false } if items.respond_to?(:call)
          if items.respond_to?(:num_waiting) # a Queue
            return StreamSource.new(popped(items)) { !items.empty? }
          end

          stream(items)
        end

        def self.collection?(items)
          case items
          when *COLLECTIONS then true
          when Range then !items.end.nil? && items.end != Float::INFINITY
          else items.respond_to?(:to_ary) || (defined?(Set) && items.is_a?(Set))
          end
        end

        def self.stream(items)
          unless items.respond_to?(:each)
            raise ArgumentError, "Skep.map needs an object with each, a Queue or a Proc " \
                                 "(got #{items.class})"
          end

          size = items.size if items.is_a?(Enumerator)
          StreamSource.new(items, size.is_a?(Integer) ? size : nil)
        end

        def self.called(callable)
          Enumerator.new do |items|
            until Stop == (item = callable.call)
              items << item
            end
          end
        end

        def self.popped(queue)
          Enumerator.new do |items|
            until Stop == (item = queue.pop) || (item.nil? && queue.closed?)
              items << item
            end
          end
        end
        private_class_method :collection?, :stream, :called, :popped

        # Items in memory. A worker has them by its fork, so it only needs their indexes.
        class ArraySource
          attr_reader :size

          # Copies the collection: workers that are forked later must see the same items, even if a
          # hook has changed the caller's.
          def initialize(items)
            @items = items.dup.freeze
            @size = @items.size
            @next = 0
          end

          def take(count)
            return if exhausted?

            chunk = Chunk.new(@next, @items[@next, count])
            @next += chunk.size
            chunk
          end

          def more? = !exhausted?

          def exhausted? = @next >= @size

          def remaining = @size - @next

          def close; end

          def dump(_chunk) = nil

          # Returns the items of a chunk in the worker.
          def load(from, count, _bytes) = @items[from, count]
        end

        # Items that arrive one at a time, perhaps without an end. No more are taken than workers
        # have room for. They are taken in the caller's thread, in a fiber; while it waits for an
        # item it receives no results.
        class StreamSource
          # Seconds in which a chunk is filled. A source that takes longer for one item gets its
          # items sent one by one.
          MAX_FILL_SECONDS = 0.001
          END_OF_ITEMS = Object.new.freeze
          Closed = Class.new(Exception) # rubocop:disable Lint/InheritException -- never rescued by users
          private_constant :MAX_FILL_SECONDS, :END_OF_ITEMS, :Closed

          attr_reader :size

          # The block returns true if an item can be taken without waiting; without a block the
          # source is assumed to have one.
          def initialize(items, size = nil, &ready)
            @size = size
            @ready = ready
            @next = 0
            @buffer = []
            @ended = @slow = false
            @items = fiber(items)
          end

          def take(count)
            return unless more?

            items = fill(count, OS.now + MAX_FILL_SECONDS)
            @next += items.size
            Chunk.new(@next - items.size, items)
          end

          def more?
            fetch if @buffer.empty? && !@ended
            !@buffer.empty?
          end

          def exhausted? = @ended && @buffer.empty?

          def remaining = nil

          # Runs the enumerator's `ensure` blocks, which may close a file or a cursor.
          def close
            @items.raise(Closed) if @items.alive? && @begun
          end

          def dump(chunk) = Serializer.dump_items(chunk)

          def load(_from, _count, bytes) = Serializer.load(bytes)

          private

          # A blocking fiber: otherwise a Fiber scheduler would take the enumerator's waits for
          # those of the caller's fiber.
          def fiber(items)
            Fiber.new(blocking: true) do
              items.each { |*item| Fiber.yield(item.size > 1 ? item : item.first) }
              END_OF_ITEMS
            rescue Closed
              END_OF_ITEMS
            end
          end

          def fill(count, deadline)
            fetch while @buffer.size < count && !@ended && !@slow && ready? && OS.now < deadline
            @buffer.shift(count)
          end

          def ready? = @ready ? @ready.call : true

          def fetch
            began = OS.now
            @begun = true
            item = @items.resume
            @slow = OS.now - began > MAX_FILL_SECONDS
            item.equal?(END_OF_ITEMS) ? @ended = true : @buffer << item
          end
        end
      end
      private_constant :ItemSource

      # Consecutive items that are sent to a worker together, and the index of the first.
      #
      #   chunk = Chunk.new(40, items)
      #   chunk.split_after(3)     # => [the first three, the rest]
      #   chunk.slices_of(10)      # => chunks of at most ten items
      #   chunk.isolate(44)        # => [the items before item 44, item 44 alone, those after it]
      class Chunk
        attr_reader :from
        attr_reader :items

        def initialize(from, items)
          @from = from
          @items = items
        end

        def size = @items.size

        def item(index) = @items[index - @from]

        def include?(index) = index >= @from && index < @from + size

        def split_after(count) = [part(0, count), part(count, size)]

        def slices_of(count)
          (0...size).step(count).map { |first| part(first, first + count) }
        end

        def isolate(index)
          at = index - @from
          [part(0, at), part(at, at + 1), part(at + 1, size)].select { |part| part.size.positive? }
        end

        private

        def part(first, after) = Chunk.new(@from + first, @items[first...after])
      end
      private_constant :Chunk
    end
  end
end
