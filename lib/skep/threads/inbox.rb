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
    #   Inbox.new(limit: 1_000, full: :drop_oldest)   # what to do when it is full: see Terms
    #
    # A forked child finds it empty, whatever its parent's threads were doing with it, as what was
    # in it is the parent's to do; `inherit:` changes that. It finds it closed where it was closed.
    # Any number of threads, and of fibers under a scheduler, may push and pop. Not for trap
    # handlers: it takes a lock.
    class Inbox
      # One for all: held for a moment only, and Ruby frees in a forked child what threads left
      # behind held.
      RENEWAL = Mutex.new
      NIL = "nil can't be pushed: popped, it means an empty inbox"
      private_constant :RENEWAL, :NIL

      # The terms are told in Terms. Raises ArgumentError for others.
      #
      #: (?limit: Integer?, ?full: Symbol, ?inherit: Symbol) -> void
      def initialize(limit: nil, full: :block, inherit: :parent)
        @terms = Terms.new(limit:, full:, inherit:).freeze
        @contents = Contents.new(OS::Generation.count, @terms)
      end

      # How many items it holds at most, nil for any number.
      #
      #: () -> Integer?
      def limit = @terms.limit

      # Puts an item in, where it is full waiting at most so many seconds, for ever by default.
      # Raises Inbox::Closed, Inbox::Full, and ArgumentError for nil, which means that there is
      # none.
      #
      #: (untyped item, ?timeout: Numeric?) -> self
      def push(item, timeout: nil)
        raise ArgumentError, NIL if item.nil?

        refusal = contents.push(item, timeout && (OS.now + timeout))
        raise refusal == :full ? Full.new("the inbox", limit) : Closed.new if refusal

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

      # Does it take nothing more? What is in it can still be taken.
      #: () -> bool
      def closed? = contents.closed?

      # How many items wait.
      #: () -> Integer
      def size = contents.size

      # Does none wait?
      #: () -> bool
      def empty? = size.zero?

      # Are there as many as `limit` allows?
      #: () -> bool
      def full? = contents.full?

      # How many items were thrown away in this process, to make room.
      #
      #: () -> Integer
      def dropped = contents.dropped

      # nil when the item is in, else why it isn't: :full or :closed.
      #
      #: (untyped item, ?Numeric? timeout) -> Symbol?
      def __push(item, timeout = nil)
        raise ArgumentError, NIL if item.nil?

        contents.push(item, timeout && (OS.now + timeout))
      end

      # How many items were popped in this process.
      #
      #: () -> Integer
      def __popped = contents.popped

      # Waits so many seconds; a close ends it early.
      #
      #: (Numeric seconds) -> void
      def __rest(seconds) = contents.rest(OS.now + seconds)

      # How many were dropped, where that is worth telling: after 1, 10, 100 and so on, and at last.
      #
      #: (?at_last: bool) -> Integer?
      def __drops_untold(at_last: false) = contents.drops_untold(at_last)

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
