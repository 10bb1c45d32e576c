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
    #   Inbox.new(limit: 1_000, full: :drop_oldest)   # what to do when it is full: see Options
    #
    # A forked child finds it empty, whatever its parent's threads were doing with it, as what was
    # in it is the parent's to do; `inherit:` changes that. It finds it closed where it was closed.
    # Any number of threads, and of fibers under a scheduler, may push and pop. Not for trap
    # handlers: it takes a lock.
    class Inbox
      # What an inbox was made to do when it is full, and at a fork.
      #
      #   Options.new(limit: 1_000, full: :block, inherit: :parent)
      #
      # limit    how many items it holds at most; nil, any number
      # full     :block        a push waits for room, as long as its timeout says
      #          :drop_oldest  a push throws the oldest item away, and counts it
      #          :raise        a push raises Inbox::Full at once
      # inherit  :parent       what is in it at a fork is the parent's to do; the child begins
      #                        empty, unless Process.daemon made it, which ends the parent
      #          :items        the child has them too: each process does them
      #          :none         the child begins empty, even then
      Options = Struct.new(:limit, :full, :inherit, keyword_init: true) do
        #: (limit: Integer?, full: Symbol, inherit: Symbol) -> void
        def initialize(limit:, full:, inherit:)
          limit.nil? || (limit.is_a?(Integer) && limit.positive?) or
            raise ArgumentError, "limit: is a positive Integer or nil, not #{limit.inspect}"

          Options.check(:full, full, %i[block drop_oldest raise])
          Options.check(:inherit, inherit, %i[parent items none])
          super
        end

        # Raises ArgumentError for a value that isn't known.
        #
        #: (Symbol name, untyped value, Array[Symbol] known) -> void
        def self.check(name, value, known)
          known.include?(value) or
            raise ArgumentError, "#{name}: is one of #{known.inspect}, not #{value.inspect}"
        end
      end
      private_constant :Options

      # Raised by a push after close.
      class Closed < Skep::Error
        #: (?String what) -> void
        def initialize(what = "the inbox")
          super("#{what} is closed: push before close, or make another")
        end
      end

      # Raised by a push for which there is no room: at once, or at its deadline.
      class Full < Skep::Error
        #: (String what, Integer limit) -> void
        def initialize(what, limit)
          super("#{what} is full, at #{limit}: push later, or give it a higher limit")
        end
      end

      # One for all: held for a moment only, and Ruby frees in a forked child what threads left
      # behind held.
      RENEWAL = Mutex.new
      NIL = "nil can't be pushed: popped, it means an empty inbox"
      private_constant :RENEWAL, :NIL

      # The options are told in Options. Raises ArgumentError for others.
      #
      #: (?limit: Integer?, ?full: Symbol, ?inherit: Symbol) -> void
      def initialize(limit: nil, full: :block, inherit: :parent)
        @options = Options.new(limit:, full:, inherit:).freeze
        @buffer = Buffer.new(OS::Generation.count, @options)
      end

      # How many items it holds at most, nil for any number.
      #
      #: () -> Integer?
      def limit = @options.limit

      # Puts an item in, where it is full waiting at most so many seconds, for ever by default.
      # Raises Inbox::Closed, Inbox::Full, and ArgumentError for nil, which means that there is
      # none.
      #
      #: (untyped item, ?timeout: Numeric?) -> self
      def push(item, timeout: nil)
        raise ArgumentError, NIL if item.nil?

        refusal = buffer.push(item, timeout && (OS.now + timeout))
        raise refusal == :full ? Full.new("the inbox", limit) : Closed.new if refusal

        self
      end

      # Takes the oldest item, waiting for one at most so many seconds, for ever by default.
      # nil at the deadline, and as soon as it is closed and empty.
      #
      #: (?timeout: Numeric?) -> untyped
      def pop(timeout: nil) = buffer.pop(timeout && (OS.now + timeout))

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
      def close = buffer.close

      # Does it take nothing more? What is in it can still be taken.
      #: () -> bool
      def closed? = buffer.closed?

      # How many items wait.
      #: () -> Integer
      def size = buffer.size

      # Does none wait?
      #: () -> bool
      def empty? = size.zero?

      # Are there as many as `limit` allows?
      #: () -> bool
      def full? = buffer.full?

      # How many items were thrown away in this process, to make room.
      #
      #: () -> Integer
      def dropped = buffer.dropped

      # nil when the item is in, else why it isn't: :full or :closed.
      #
      #: (untyped item, ?Numeric? timeout) -> Symbol?
      def __push(item, timeout = nil)
        raise ArgumentError, NIL if item.nil?

        buffer.push(item, timeout && (OS.now + timeout))
      end

      # How many items were popped in this process.
      #
      #: () -> Integer
      def __popped = buffer.popped

      # Waits so many seconds; a close ends it early.
      #
      #: (Numeric seconds) -> void
      def __rest(seconds) = buffer.rest(OS.now + seconds)

      # How many were dropped, where that is worth telling: after 1, 10, 100 and so on, and at last.
      #
      #: (?at_last: bool) -> Integer?
      def __drops_untold(at_last: false) = buffer.drops_untold(at_last)

      #: () -> String
      def inspect = "#<#{self.class} size=#{size}#{" closed" if closed?}>"

      private

      # Those of this process: the parent's lock may be held by a thread that isn't here.
      #
      #: () -> Buffer
      def buffer
        return @buffer if @buffer.generation == OS::Generation.count

        RENEWAL.synchronize do
          generation = OS::Generation.count
          @buffer = @buffer.for_child(generation) unless @buffer.generation == generation
          @buffer
        end
      end
    end
  end
end
