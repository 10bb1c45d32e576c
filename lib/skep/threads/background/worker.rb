# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # How long a thread pauses after each error. Knows no clock and no thread.
      #
      #   backoff = Backoff.new
      #   backoff.after(taken: 1, ran: 0.2)    # => 0.0, seconds
      #   backoff.after(taken: 1, ran: 0.2)    # => 0.1, then 0.2 … 30, each ±20%
      #
      # The first error is free, and so is one after a run that did some work: that took two items,
      # so that one at least went well, or ran for half a minute.
      class Backoff
        FIRST = 0.1
        MOST = 30.0
        SPREAD = (0.8..1.2)
        private_constant :FIRST, :MOST, :SPREAD

        #: (?random: untyped) -> void
        def initialize(random: Random)
          @random = random
          @errors = 0
        end

        # `taken` is how many items the run took, `ran` how many seconds it went on.
        #
        #: (taken: Integer, ran: Float) -> Float
        def after(taken:, ran:)
          @errors = taken > 1 || ran >= MOST ? 1 : @errors + 1
          return 0.0 if @errors == 1

          [FIRST * (2**[@errors - 2, 16].min), MOST].min * @random.rand(SPREAD)
        end
      end
      private_constant :Backoff

      # The thread of a Background, and those that take its place: after an error of its block,
      # after a Thread#kill, and in a forked child.
      #
      #   worker = Worker.new("skep.mailer", inbox, reporter) { |inbox| … }
      #   worker.start           # where it isn't running
      #   worker.join(deadline)  # until it has ended, and none took its place
      class Worker
        #: (String name, Inbox, untyped reporter) { (Inbox) -> void } -> void
        def initialize(name, inbox, reporter, &block)
          @name = name
          @inbox = inbox
          @reporter = reporter
          @block = block
          @lock = Mutex.new # Ruby frees it in a forked child whose parent's other thread held it.
          @working = false
        end

        #: () -> void
        def start
          @lock.synchronize { run unless @working && alive? }
        end

        # In a child forked by the thread itself it is another.
        #
        #: () -> bool
        def alive? = @generation == OS::Generation.count && @thread.alive?

        #: () -> bool
        def current? = @thread == Thread.current && alive?

        #: (Float? deadline) -> void
        def join(deadline)
          return unless alive?

          thread = @thread
          ended = thread.join(deadline && [deadline - OS.now, 0].max)
          join(deadline) if ended && thread != @thread
        end

        # Reports by the user's reporter.
        #
        #: (Exception) -> void
        def tell(error) = Fork::Reporter.tell(@reporter, error, "the thread #{@name}")

        private

        #: () -> void
        def run
          thread = Thread.new { work }
          @generation = OS::Generation.count
          @working = true
          @thread = thread
          thread.name = @name
          thread.thread_variable_set(:fork_safe, true) # Says to Fork::Guard: it comes back.
        end

        #: () -> void
        def work
          @lock.synchronize { Thread.current.report_on_exception = false } # run is over, too
          backoff = Backoff.new
          nil while again?(backoff)
          ended = true
        rescue SystemExit, SignalException
          ended = true
          raise # Meant for the process: Ruby hands it to the main thread.
        ensure
          come_back unless ended
        end

        # Calls the block; should it be called once more?
        #
        #: (Backoff) -> bool
        def again?(backoff)
          popped = @inbox.__popped
          began = OS.now
          failed = !call
          taken = @inbox.__popped - popped
          return go_on? { !@inbox.empty? && taken.positive? } if !failed || @inbox.closed?

          @inbox.__rest(backoff.after(taken:, ran: OS.now - began))
          go_on? { !(@inbox.closed? && @inbox.empty?) }
        end

        # Asked under the lock: what is pushed from now on either is seen here or starts a new
        # thread.
        #
        #: () { () -> bool } -> bool
        def go_on?
          @lock.synchronize { @working = yield }
        end

        # False when the block raised.
        #
        #: () -> bool
        def call
          @block.call(@inbox)
          true
        rescue SystemExit, SignalException
          raise # For work to deal with.
        rescue Exception => error # rubocop:disable Lint/RescueException -- or nobody would see it
          tell(error)
          false
        end

        # Somebody killed the thread. At the end of the process that is Ruby, and all is done.
        #
        #: () -> void
        def come_back
          return if Registry.over? || @generation != OS::Generation.count

          tell(ThreadKilled.new)
          @lock.synchronize { run } unless @inbox.closed? && @inbox.empty?
        end
      end
      private_constant :Worker
    end
  end
end
