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
    #
    # In a forked child it is empty, whatever the parent's threads were doing: the parent processes
    # the items. Only after Process.daemon, which ends the parent, the child has them. A closed
    # inbox is closed in the child, too. Any number of threads, and of fibers with a scheduler, may
    # push and pop. A trap handler can't: it takes a lock.
    #
    # Queue#pop has no timeout on Ruby 3.1, hence the condition variables.
    class Inbox
      # Raised by a push after close.
      class Closed < Skep::Error
        def initialize(what = "the inbox")
          super("#{what} is closed: push before close, or make another")
        end
      end

      # Of all inboxes, held briefly. Ruby unlocks it in a forked child.
      FORK_LOCK = Mutex.new
      private_constant :FORK_LOCK

      def initialize
        @items = []
        @closed = false
        start_over(OS::Generation.count)
      end

      # Adds an item. Raises Inbox::Closed, and ArgumentError for nil, with which #pop reports an
      # empty inbox.
      def push(item)
        raise Closed unless __push(item)

        self
      end

      # Removes and returns the oldest item; waits for one for up to `timeout` seconds (nil: no
      # limit). Returns nil at the deadline, and as soon as the inbox is closed and empty.
      def pop(timeout: nil)
        deadline = timeout && (OS.now + timeout)
        synchronize do
          wait(@not_empty, deadline) { @items.empty? } if @items.empty?
          return if @items.empty?

          @popped += 1
          @items.shift
        end
      end

      # Yields each item until the inbox is closed and empty.
      def each
        until (item = pop).nil?
          yield item
        end
      end

      # Accepts no more items, and wakes waiting threads.
      def close
        synchronize do
          @closed = true
          [@not_empty, @closing].each(&:broadcast)
        end
        nil
      end

      # Returns true once it accepts no more items.
      def closed? = @closed

      # Returns how many items it holds.
      def size
        renew
        @items.size
      end

      # Returns true if it holds no item.
      def empty? = size.zero?

      # Adds the item; returns false if it is closed.
      def __push(item)
        raise ArgumentError, "nil can't be pushed: popped, it means an empty inbox" if item.nil?

        synchronize do
          return false if @closed

          @items << item
          @not_empty.signal
        end
        true
      end

      # Returns how many items this process has popped.
      def __popped
        renew
        @popped
      end

      # Waits for so many seconds, or until close.
      def __pause(seconds)
        deadline = OS.now + seconds
        synchronize { wait(@closing, deadline) { true } }
      end

      def inspect = "#<#{self.class} size=#{size}#{" closed" if closed?}>"

      private

      def synchronize(&block)
        renew
        @lock.synchronize(&block)
      end

      # In a forked child a lost thread may hold the lock: the child has its own.
      def renew
        return if @generation == OS::Generation.count

        FORK_LOCK.synchronize do
          generation = OS::Generation.count
          next if @generation == generation

          @items = Fork.__daemon_child?(@generation) ? @items.dup : []
          start_over(generation)
        end
      end

      # Sets the generation last: then other threads don't wait for FORK_LOCK.
      def start_over(generation)
        @popped = 0
        @lock = Mutex.new
        @not_empty, @closing = Array.new(2) { ConditionVariable.new }
        @generation = generation
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
  end
end
