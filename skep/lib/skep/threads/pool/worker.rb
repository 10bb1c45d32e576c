# frozen_string_literal: true

module Skep
  module Threads
    class Pool
      # One of a pool's threads.
      #
      #   worker = Worker.new(workers, "pool.0", reporter)
      #   worker.join(5)       # => true once it has ended, within so many seconds
      #
      # It can be interrupted only while it waits and inside a job, so that its records are complete
      # whenever it is killed. It must be created with interrupts deferred, which it inherits: then
      # the others learn of each end.
      class Worker
        HELD = { Object => :never }.freeze
        FREE = { Object => :immediate }.freeze
        INSIDE = :skep_pool
        private_constant :FREE, :INSIDE

        # Returns true if the calling thread belongs to a pool.
        def self.inside? = Thread.current.thread_variable?(INSIDE)

        def initialize(workers, name, reporter)
          @workers = workers
          @who = "the thread skep.#{name}"
          @reporter = reporter
          @thread = Thread.new { live }
          @thread.name = "skep.#{name}"
          @thread.thread_variable_set(:fork_safe, true) # For Fork::Guard: it restarts.
        end

        def join(timeout) = !@thread.join(timeout).nil?

        # Returns true if it is the calling thread.
        def mine? = @thread.equal?(Thread.current)

        private

        def live
          Thread.current.thread_variable_set(INSIDE, true)
          serve
          ended = true
        rescue Exception => error # rubocop:disable Lint/RescueException -- or it would be lost
          Fork::Reporter.report(@reporter, error, @who)
        ensure
          @workers.remove(self, ended)
        end

        # Looks for batches once more after the last ticket: they may outlast the close.
        def serve
          Kernel.loop do
            ticket = Thread.handle_interrupt(FREE) { @workers.wait_for_work }
            while (batch = @workers.enter)
              work_on(batch)
            end
            break unless ticket && @workers.here?
          end
        end

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
