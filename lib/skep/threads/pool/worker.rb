# frozen_string_literal: true

module Skep
  module Threads
    class Pool
      # One of a pool's threads.
      #
      #   worker = Worker.new(workers, "pool.0", reporter)
      #   worker.join(5)       # => true once it has ended, within so many seconds
      #
      # It can be interrupted only while it waits and in a job: what it notes of its work is whole,
      # whenever it is killed. Made where interrupts are held back, it is born that way, and the
      # others hear of every end.
      class Worker
        HELD = { Object => :never }.freeze
        FREE = { Object => :immediate }.freeze
        INSIDE = :skep_pool
        private_constant :FREE, :INSIDE

        # Does the calling thread belong to a pool?
        #
        #: () -> bool
        def self.inside? = Thread.current.thread_variable?(INSIDE)

        #: (Workers, String name, untyped reporter) -> void
        def initialize(workers, name, reporter)
          @workers = workers
          @who = "the thread skep.#{name}"
          @reporter = reporter
          @thread = Thread.new { live }
          @thread.name = "skep.#{name}"
          @thread.thread_variable_set(:fork_safe, true) # Tells Fork::Guard that it comes back.
        end

        #: (Numeric? timeout) -> bool
        def join(timeout) = !@thread.join(timeout).nil?

        # Is it the calling thread?
        #
        #: () -> bool
        def mine? = @thread.equal?(Thread.current)

        private

        #: () -> void
        def live
          Thread.current.thread_variable_set(INSIDE, true)
          serve
          ended = true
        rescue Exception => error # rubocop:disable Lint/RescueException -- or nobody would see it
          Fork::Reporter.tell(@reporter, error, @who)
        ensure
          @workers.remove(self, ended)
        end

        # Looks for batches once more after the last ticket: the pool may be closed before they are
        # over.
        #
        #: () -> void
        def serve
          Kernel.loop do
            ticket = Thread.handle_interrupt(FREE) { @workers.wait_for_work }
            while (batch = @workers.enter)
              work_on(batch)
            end
            break unless ticket && @workers.here?
          end
        end

        #: (Batch) -> void
        def work_on(batch)
          Thread.handle_interrupt(FREE) { batch.work }
          whole = true
        ensure
          @workers.leave(batch, whole: !!whole)
        end
      end
      private_constant :Worker
    end
  end
end
