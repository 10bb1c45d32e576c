# frozen_string_literal: true

module Skep
  module Threads
    class Inbox
      # What is in an inbox in one process, and the lock and bells that go with it.
      #
      #   buffer = Buffer.new(generation, options)
      #   buffer.push(item, nil)         # => nil, or :closed, or :full
      #   buffer.pop(OS.now + 0.5)       # => an item or nil
      #   buffer.for_child(generation)   # a child's, with a lock and bells of its own
      #
      # Condition variables are used since Ruby 3.1's Queue#pop knows no deadline.
      class Buffer
        attr_reader :generation #: Integer
        attr_reader :popped     #: Integer
        attr_reader :dropped    #: Integer

        #: (Integer generation, Options, ?items: Array[untyped], ?closed: bool, ?dropped: Integer)
        #:   -> void
        def initialize(generation, options, items: [], closed: false, dropped: 0)
          @generation = generation
          @options = options
          @limit = options.limit
          @items = items
          @closed = closed
          @dropped = dropped
          @popped = @told = 0
          @lock = Mutex.new
          @bell, @room, @over = Array.new(3) { ConditionVariable.new }
        end

        #: (Integer generation) -> Buffer
        def for_child(generation)
          heir = Fork.__heir?(@generation)
          keep = @options.inherit == :items || (@options.inherit == :parent && heir)
          Buffer.new(generation, @options, items: keep ? @items.dup : [], closed: @closed,
                                           dropped: heir && !keep ? @items.size : 0)
        end

        #: (untyped item, Float? deadline) -> Symbol?
        def push(item, deadline)
          @lock.synchronize do
            refusal = refuse(deadline) if @closed || @limit
            return refusal if refusal

            @items << item
            @bell.signal
          end
          nil
        end

        #: (Float? deadline) -> untyped
        def pop(deadline)
          @lock.synchronize do
            wait(@bell, deadline) { @items.empty? } if @items.empty?
            return if @items.empty?

            @popped += 1
            @room.signal if @limit
            @items.shift
          end
        end

        #: (Float deadline) -> void
        def rest(deadline)
          @lock.synchronize { wait(@over, deadline) { true } }
        end

        #: () -> void
        def close
          @lock.synchronize do
            @closed = true
            [@bell, @room, @over].each(&:broadcast)
          end
          nil
        end

        #: () -> bool
        def closed? = @closed

        #: () -> Integer
        def size = @items.size

        #: () -> boolish
        def full? = @limit && @items.size >= @limit

        #: (bool at_last) -> Integer?
        def drops_untold(at_last)
          @lock.synchronize do
            due = at_last ? @told + 1 : 10**(@told.zero? ? 0 : @told.digits.size)
            @told = @dropped if @dropped >= due
          end
        end

        private

        #: (Float? deadline) -> Symbol?
        def refuse(deadline)
          make_room(deadline) if full? && !@closed
          return :closed if @closed

          :full if full?
        end

        #: (Float? deadline) -> void
        def make_room(deadline)
          case @options.full
          when :block then wait(@room, deadline) { full? }
          when :drop_oldest
            @items.shift
            @dropped += 1
          end
        end

        # Until the block is false, the deadline is over or the inbox closed.
        #
        #: (ConditionVariable, Float? deadline) { () -> boolish } -> void
        def wait(bell, deadline)
          while yield && !@closed
            left = deadline && (deadline - OS.now)
            break if left && left <= 0

            doze(bell, left)
          end
        end

        # Who is interrupted (Timeout, Thread#kill) may have heard the bell for another.
        #
        #: (ConditionVariable, Float? seconds) -> void
        def doze(bell, seconds)
          bell.wait(@lock, seconds)
          awake = true
        ensure
          bell.signal unless awake
        end
      end
      private_constant :Buffer
    end
  end
end
