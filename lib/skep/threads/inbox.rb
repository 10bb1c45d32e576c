# frozen_string_literal: true

module Skep
  module Threads
    # A queue between threads, with deadlines.
    #
    #   inbox = Inbox.new
    #   inbox.push(item)           # wakes one that waits
    #   inbox.pop(timeout: 0.5)    # => the oldest item; nil at the deadline, or closed and empty
    #   inbox.each { |item| … }    # until it is closed and empty
    #   inbox.close                # nothing more comes in, what is in can still be taken
    #
    # A forked child finds it empty, whatever its parent's threads were doing with it: what was in
    # it is the parent's to do. It finds it closed where it was closed. Not for trap handlers: it
    # takes a lock.
    class Inbox
      # One for all: held for a moment only, and Ruby frees in a forked child what threads left
      # behind held.
      RENEWAL = Mutex.new
      private_constant :RENEWAL

      #: () -> void
      def initialize
        @contents = Contents.new(OS::Generation.count)
      end

      # Puts an item in. Raises Inbox::Closed, and ArgumentError for nil, which means that there is
      # none.
      #
      #: (untyped item) -> self
      def push(item)
        raise ArgumentError, "nil can't be pushed: popped, it means an empty inbox" if item.nil?

        contents.push(item) or raise Closed
        self
      end

      # Takes the oldest item, waiting for one at most so many seconds, for ever by default.
      # nil at the deadline, and as soon as it is closed and empty.
      #
      #: (?timeout: Numeric?) -> untyped
      def pop(timeout: nil) = contents.pop(timeout && (OS.now + timeout))

      # Yields each item until it is closed and empty.
      #
      #: () { (untyped) -> void } -> void
      def each
        until (item = pop).nil?
          yield item
        end
      end

      # Lets nothing more in, and tells those who wait.
      #
      #: () -> void
      def close = contents.close

      #: () -> bool
      def closed? = contents.closed?

      #: () -> Integer
      def size = contents.size

      #: () -> bool
      def empty? = size.zero?

      # How many items were popped in this process.
      #
      #: () -> Integer
      def __popped = contents.popped

      #: () -> String
      def inspect = "#<#{self.class} size=#{size}#{" closed" if closed?}>"

      private

      # Those of this process: the parent's lock may be held by a thread that isn't here.
      #
      #: () -> Contents
      def contents
        return @contents if @contents.generation == OS::Generation.count

        RENEWAL.synchronize do
          generation = OS::Generation.count
          @contents = @contents.renew(generation) unless @contents.generation == generation
          @contents
        end
      end
    end
  end
end
