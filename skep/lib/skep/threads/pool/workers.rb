# frozen_string_literal: true

module Skep
  module Threads
    class Pool
      # A pool's threads in one process, and the batches they work on.
      #
      #   workers = Workers.new(5, name: "pool", reporter:)
      #   workers.host(batch)         # the threads work on it until it is over
      #   workers.close(OS.now + 5)   # => true: all batches are done and the threads have ended
      #   workers.for_child           # the same in a forked child, without threads yet
      #
      # Threads wait for a ticket, which says that there is work, but not which. One is enough for a
      # batch: the thread that takes it wakes the next as long as there are more jobs. A killed
      # thread starts its replacement.
      class Workers
        def initialize(size, name:, reporter:, closed: false)
          @size, @name, @reporter = size, name, reporter
          @generation = OS::Generation.count
          @tickets = Thread::Queue.new
          @tickets.close if closed
          @batches = []
          @workers = {}
          @lock, @left = Mutex.new, ConditionVariable.new
        end

        def here? = @generation == OS::Generation.count

        def for_child = Workers.new(@size, name: @name, reporter: @reporter, closed: closed?)

        def closed? = @tickets.closed?

        # Runs the batch with the threads, and with the caller if that helps. Raises Closed.
        def host(batch)
          @lock.synchronize { closed? ? raise(Closed) : @batches << batch }
          wake(batch) if batch.wanting?(batch.helped? ? 1 : 0)
          batch.settle
        ensure
          dismiss(batch)
        end

        def close(deadline)
          @tickets.close
          return false if at_work?

          settled?(deadline) && @workers.values.all? { |worker| worker.join(left(deadline)) }
        end

        # Waits for a ticket; returns nil once closed.
        def wait_for_work = @tickets.pop

        # Returns a batch for a worker, which must leave it afterwards; nil in a child that a job
        # forked.
        def enter
          batch = @lock.synchronize { @batches.find(&:enter) } if here?
          wake(batch) if batch&.wanting?(1)
          batch
        end

        def leave(batch, whole:) = @lock.synchronize { batch.leave(whole:) }

        # Removes a worker that has ended; replaces one that was killed.
        def remove(worker, ended)
          return unless here?

          @lock.synchronize { @workers.delete(@workers.key(worker)) }
          return if ended

          issue_ticket(force: true)
          add_worker
        rescue ThreadError # No thread can start while the process exits.
          nil
        end

        private

        # Wakes or starts one more thread. Called by #host, and by each thread that enters a batch.
        def wake(batch)
          issue_ticket
          add_worker if @tickets.num_waiting.zero? && @workers.size < @size
        rescue ThreadError # The system refuses a thread: the others do the work, if there are any.
          raise if @workers.empty? && !batch.helped?
        end

        # One ticket in the queue is enough, unless the thread that it woke was killed (`force`).
        def issue_ticket(force: false)
          @tickets << true if force || @tickets.empty?
        rescue ClosedQueueError
          nil # All threads are awake, and look for batches before they end.
        end

        # With interrupts deferred, which the new thread inherits. Under the lock until the thread
        # has its name: it takes no job before.
        def add_worker
          held do
            number = (0...@size).find { |each| !@workers.key?(each) }
            @workers[number] = Worker.new(self, "#{@name}.#{number}", @reporter) if number
          end
        end

        def held(&block)
          Thread.handle_interrupt(Worker::HELD) { @lock.synchronize(&block) }
        end

        # The first call in an ensure clause: another thread's exception, raised as any earlier one
        # returns, would end the clause, and the batch would stay.
        def dismiss(batch)
          held do
            batch.abandon
            @batches.delete(batch)
            @left.broadcast if closed?
          end
        end

        # Waits until no batch is left.
        def settled?(deadline)
          @lock.synchronize do
            until @batches.empty? || left(deadline)&.zero?
              @left.wait(@lock, left(deadline))
            end
            @batches.empty?
          end
        end

        # Returns true if the calling thread is inside a job.
        def at_work?
          @lock.synchronize { [*@batches, *@workers.values].any?(&:mine?) }
        end

        def left(deadline) = deadline && [deadline - OS.now, 0.0].max
      end
      private_constant :Workers
    end
  end
end
