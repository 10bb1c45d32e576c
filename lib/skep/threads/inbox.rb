# frozen_string_literal: true

module Skep
  module Threads
    # A queue between threads, with deadlines.
    #
    #   inbox = Inbox.new
    #   inbox.push(item)           # wakes one waiting thread
    #   inbox.pop(timeout: 0.5)    # => the oldest item; nil at the deadline, or closed and empty
    #   inbox.each { |item| … }    # until it is closed and empty
    #   inbox.close                # accepts no more items; those in it can still be popped
    #   Inbox.new(limit: 1_000, full: :drop_oldest)   # what to do if it is full: see Options
    #
    # In a forked child it is empty, whatever the parent's threads were doing: the parent processes
    # the items. `inherit:` changes that. A closed inbox is closed in the child, too. Any number of
    # threads, and of fibers with a scheduler, may push and pop. A trap handler can't: it takes a
    # lock.
    class Inbox
      # What an inbox does if it is full, and at a fork.
      #
      #   Options.new(limit: 1_000, full: :block, inherit: :parent)
      #
      # limit    the most items; nil: no limit
      # full     :block        a push waits for room, up to its timeout
      #          :drop_oldest  a push drops the oldest item, and counts it
      #          :raise        a push raises Inbox::Full at once
      # inherit  :parent       at a fork the parent keeps the items and the child has none; after
      #                        Process.daemon, which ends the parent, the child has them
      #          :items        both have the items, and each processes them
      #          :none         the child has none, also after Process.daemon
      Options = Struct.new(:limit, :full, :inherit, keyword_init: true) do
        def initialize(limit:, full:, inherit:)
          limit.nil? || (limit.is_a?(Integer) && limit.positive?) or
            raise ArgumentError, "limit: is a positive Integer or nil, not #{limit.inspect}"

          Options.check(:full, full, %i[block drop_oldest raise])
          Options.check(:inherit, inherit, %i[parent items none])
          super
        end

        # Raises ArgumentError for an unknown value.
        def self.check(name, value, known)
          known.include?(value) or
            raise ArgumentError, "#{name}: is one of #{known.inspect}, not #{value.inspect}"
        end
      end
      private_constant :Options

      # Raised by a push after close.
      class Closed < Skep::Error
        def initialize(what = "the inbox")
          super("#{what} is closed: push before close, or make another")
        end
      end

      # Raised by a push to a full inbox: at once, or at its deadline.
      class Full < Skep::Error
        def initialize(what, limit)
          super("#{what} is full, at #{limit}: push later, or give it a higher limit")
        end
      end

      # Of all inboxes, held briefly. Ruby unlocks it in a forked child.
      FORK_LOCK = Mutex.new
      NIL = "nil can't be pushed: popped, it means an empty inbox"
      private_constant :FORK_LOCK, :NIL

      # See Options. Raises ArgumentError for other values.
      def initialize(limit: nil, full: :block, inherit: :parent)
        @options = Options.new(limit:, full:, inherit:).freeze
        @buffer = Buffer.new(OS::Generation.count, @options)
      end

      # Returns the most items it holds; nil: no limit.
      def limit = @options.limit

      # Adds an item. If the inbox is full, waits for up to `timeout` seconds (nil: no limit).
      # Raises Inbox::Closed, Inbox::Full, and ArgumentError for nil, with which #pop reports an
      # empty inbox.
      def push(item, timeout: nil)
        raise ArgumentError, NIL if item.nil?

        refusal = buffer.push(item, timeout && (OS.now + timeout))
        raise refusal == :full ? Full.new("the inbox", limit) : Closed.new if refusal

        self
      end

      # Removes and returns the oldest item; waits for one for up to `timeout` seconds (nil: no
      # limit). Returns nil at the deadline, and as soon as the inbox is closed and empty.
      def pop(timeout: nil) = buffer.pop(timeout && (OS.now + timeout))

      # Yields each item until the inbox is closed and empty.
      def each
        until (item = pop).nil?
          yield item
        end
      end

      # Accepts no more items, and wakes waiting threads.
      def close = buffer.close

      # Returns true once it accepts no more items.
      def closed? = buffer.closed?

      # Returns how many items it holds.
      def size = buffer.size

      # Returns true if it holds no item.
      def empty? = size.zero?

      # Returns true if it holds `limit` items.
      def full? = buffer.full?

      # Returns how many items this process has dropped because the inbox was full.
      def dropped = buffer.dropped

      # Adds the item and returns nil, or returns the reason why not: :full or :closed.
      def __push(item, timeout = nil)
        raise ArgumentError, NIL if item.nil?

        buffer.push(item, timeout && (OS.now + timeout))
      end

      # Returns how many items this process has popped.
      def __popped = buffer.popped

      # Waits for so many seconds, or until close.
      def __pause(seconds) = buffer.pause(OS.now + seconds)

      # Returns the number of dropped items if it is due to be reported: at 1, 10, 100 and so on,
      # and at the end.
      def __unreported_drops(at_last: false) = buffer.unreported_drops(at_last)

      def inspect = "#<#{self.class} size=#{size}#{" closed" if closed?}>"

      private

      # Returns this process' buffer. A lost thread may hold the lock of the parent's.
      def buffer
        return @buffer if @buffer.generation == OS::Generation.count

        FORK_LOCK.synchronize do
          generation = OS::Generation.count
          @buffer = @buffer.for_child(generation) unless @buffer.generation == generation
          @buffer
        end
      end
    end
  end
end
