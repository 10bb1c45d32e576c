# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # Decides how long a thread pauses after each error.
      #
      #   backoff = Backoff.new
      #   backoff.after(taken: 1, ran: 0.2)    # => 0.0, seconds
      #   backoff.after(taken: 1, ran: 0.2)    # => 0.1, then 0.2 … 30, each ±20%
      #
      # There is no pause after the first error, nor after a run that made progress: it took two
      # items, so that at least one succeeded, or it ran for half a minute.
      class Backoff
        FIRST = 0.1
        MOST = 30.0
        SPREAD = (0.8..1.2)
        private_constant :FIRST, :MOST, :SPREAD

        def initialize(random: Random)
          @random = random
          @errors = 0
        end

        # `taken` is how many items the run took, `ran` how many seconds it lasted.
        def after(taken:, ran:)
          @errors = taken > 1 || ran >= MOST ? 1 : @errors + 1
          return 0.0 if @errors == 1

          [FIRST * (2**[@errors - 2, 16].min), MOST].min * @random.rand(SPREAD)
        end
      end
      private_constant :Backoff

      # Runs the thread of a Background, and replaces it after a Thread#kill and in a forked child.
      # After an error it calls the block again.
      #
      #   worker = Worker.new("skep.mailer", inbox, reporter) { |inbox| … }
      #   worker.start           # if it isn't running
      #   worker.join(deadline)  # until it has ended and was not replaced
      class Worker
        def initialize(name, inbox, reporter, &block)
          @name = name
          @inbox = inbox
          @reporter = reporter
          @block = block
          @lock = Mutex.new # Ruby unlocks it in a forked child.
          @working = false
        end

        def start
          @lock.synchronize { run unless @working && alive? }
        end

        # Compares the generation: a child forked by the thread itself has a thread, but not this.
        def alive? = @generation == OS::Generation.count && @thread.alive?

        def current? = @thread == Thread.current && alive?

        def join(deadline)
          return unless alive?

          thread = @thread
          ended = thread.join(deadline && [deadline - OS.now, 0].max)
          join(deadline) if ended && thread != @thread
        end

        # Passes an error to the user's reporter.
        def report(error) = Fork::Reporter.report(@reporter, error, "the thread #{@name}")

        private

        def run
          thread = Thread.new { work }
          @generation = OS::Generation.count
          @working = true
          @thread = thread
          thread.name = @name
          thread.thread_variable_set(:fork_safe, true) # For Fork::Guard: it restarts.
        end

        def work
          @lock.synchronize { Thread.current.report_on_exception = false } # after run has returned
          backoff = Backoff.new
          nil while call_again?(backoff)
          ended = true
        rescue SystemExit, SignalException
          ended = true
          raise # For the process: Ruby passes it to the main thread.
        ensure
          replace_thread unless ended
        end

        # Calls the block; returns true if it should be called again.
        def call_again?(backoff)
          popped = @inbox.__popped
          began = OS.now
          failed = !call
          taken = @inbox.__popped - popped
          return continue? { !@inbox.empty? && taken.positive? } if !failed || @inbox.closed?

          @inbox.__pause(backoff.after(taken:, ran: OS.now - began))
          continue? { !(@inbox.closed? && @inbox.empty?) }
        end

        # Evaluates the block under the lock: a push either is seen by it or starts a new thread.
        def continue?
          @lock.synchronize { @working = yield }
        end

        # Returns false if the block raised.
        def call
          @block.call(@inbox)
          true
        rescue SystemExit, SignalException
          raise # For #work.
        rescue Exception => error # rubocop:disable Lint/RescueException -- or it would be lost
          report(error)
          false
        end

        # The thread was killed. At the exit of the process Ruby does that, and all is drained.
        def replace_thread
          return if Registry.over? || @generation != OS::Generation.count

          report(ThreadKilled.new)
          @lock.synchronize { run } unless @inbox.closed? && @inbox.empty?
        end
      end
      private_constant :Worker
    end
  end
end
