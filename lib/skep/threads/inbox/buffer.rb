# frozen_string_literal: true

module Skep
  module Threads
    class Inbox
      # The items of an inbox in one process, with their lock and condition variables.
      #
      #   buffer = Buffer.new(generation, options)
      #   buffer.push(item, nil)         # => nil, or :closed, or :full
      #   buffer.pop(OS.now + 0.5)       # => an item or nil
      #   buffer.for_child(generation)   # the buffer of a forked child
      #
      # Uses condition variables because Queue#pop has no timeout on Ruby 3.1.
      class Buffer
        attr_reader :generation
        attr_reader :popped
        attr_reader :dropped

        def initialize(generation, options, items: [], closed: false, dropped: 0)
          @generation = generation
          @options = options
          @limit = options.limit
          @items = items
          @closed = closed
          @dropped = dropped
          @popped = @reported = 0
          @lock = Mutex.new
          @not_empty, @not_full, @closing = Array.new(3) { ConditionVariable.new }
        end

        def for_child(generation)
          daemon = Fork.__daemon_child?(@generation)
          keep = @options.inherit == :items || (@options.inherit == :parent && daemon)
          Buffer.new(generation, @options, items: keep ? @items.dup : [], closed: @closed,
                                           dropped: daemon && !keep ? @items.size : 0)
        end

        def push(item, deadline)
          @lock.synchronize do
            refusal = refuse(deadline) if @closed || @limit
            return refusal if refusal

            @items << item
            @not_empty.signal
          end
          nil
        end

        def pop(deadline)
          @lock.synchronize do
            wait(@not_empty, deadline) { @items.empty? } if @items.empty?
            return if @items.empty?

            @popped += 1
            @not_full.signal if @limit
            @items.shift
          end
        end

        def pause(deadline)
          @lock.synchronize { wait(@closing, deadline) { true } }
        end

        def close
          @lock.synchronize do
            @closed = true
            [@not_empty, @not_full, @closing].each(&:broadcast)
          end
          nil
        end

        def closed? = @closed

        def size = @items.size

        def full? = @limit && @items.size >= @limit

        def unreported_drops(at_last)
          @lock.synchronize do
            due = at_last ? @reported + 1 : 10**(@reported.zero? ? 0 : @reported.digits.size)
            @reported = @dropped if @dropped >= due
          end
        end

        private

        def refuse(deadline)
          wait_for_room(deadline) if full? && !@closed
          return :closed if @closed

          :full if full?
        end

        def wait_for_room(deadline)
          case @options.full
          when :block then wait(@not_full, deadline) { full? }
          when :drop_oldest
            @items.shift
            @dropped += 1
          end
        end

        # Waits until the block returns false, the deadline or the close.
        def wait(condition, deadline)
          while yield && !@closed
            left = deadline && (deadline - OS.now)
            break if left && left <= 0

            wait_on(condition, left)
          end
        end

        # An interrupted thread (Timeout, Thread#kill) may have consumed a signal: it passes it on.
        def wait_on(condition, seconds)
          condition.wait(@lock, seconds)
          awake = true
        ensure
          condition.signal unless awake
        end
      end
      private_constant :Buffer
    end
  end
end
