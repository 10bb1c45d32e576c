# frozen_string_literal: true

module Skep
  module Threads
    class Pool
      # A pool's threads in one process, and the batches they work on.
      #
      #   workers = Workers.new(5, name: "pool", reporter:)
      #   workers.host(batch)         # the threads work on it until it is over
      #   workers.close(OS.now + 5)   # => true: all is done, and they have ended
      #   workers.for_child           # the same in a forked child, without threads yet
      #
      # Threads wait for a ticket, which says that there is work, not which. One is enough for a
      # batch: who takes it calls the next, as long as there is more to do. One that is killed
      # starts its successor.
      class Workers
        #: (Integer size, name: String | Symbol, reporter: untyped, ?closed: bool) -> void
        def initialize(size, name:, reporter:, closed: false)
          @size, @name, @reporter = size, name, reporter
          @generation = OS::Generation.count
          @tickets = Thread::Queue.new
          @tickets.close if closed
          @batches = []
          @workers = {}
          @lock, @left = Mutex.new, ConditionVariable.new
        end

        #: () -> bool
        def here? = @generation == OS::Generation.count

        #: () -> Workers
        def for_child = Workers.new(@size, name: @name, reporter: @reporter, closed: closed?)

        #: () -> bool
        def closed? = @tickets.closed?

        # Has its threads work on the batch, and the caller as far as it helps. Raises Closed.
        #
        #: (Batch) -> void
        def host(batch)
          @lock.synchronize { closed? ? raise(Closed) : @batches << batch }
          wake(batch) if batch.wanting?(batch.helped? ? 1 : 0)
          batch.settle
        ensure
          batch.abandon
          dismiss(batch)
        end

        #: (Float? deadline) -> bool
        def close(deadline)
          @tickets.close
          return false if at_work?

          settled?(deadline) && @workers.values.all? { |worker| worker.join(left(deadline)) }
        end

        # A worker's wait. nil once closed.
        #
        #: () -> true?
        def wait_for_work = @tickets.pop

        # The batch that a worker is to work on, and has to leave. None in the child of a job that
        # forked.
        #
        #: () -> Batch?
        def enter
          batch = @lock.synchronize { @batches.find(&:enter) } if here?
          wake(batch) if batch&.wanting?(1)
          batch
        end

        #: (Batch, whole: bool) -> void
        def leave(batch, whole:) = @lock.synchronize { batch.leave(whole:) }

        # The worker has ended, or was killed: then another is called to what was its to do.
        #
        #: (Worker, bool? ended) -> void
        def remove(worker, ended)
          return unless here?

          @lock.synchronize { @workers.delete(@workers.key(worker)) }
          return if ended

          call(anew: true)
          add_worker
        rescue ThreadError # No thread begins in a process that ends.
          nil
        end

        private

        # Calls one thread more. Done by those who let work in, and by each that takes some.
        #
        #: (Batch) -> void
        def wake(batch)
          call
          add_worker if @tickets.num_waiting.zero? && @workers.size < @size
        rescue ThreadError # The system gives no more: the others do the work, if there are any.
          raise if @workers.empty? && !batch.helped?
        end

        # A ticket that nobody has taken yet calls as well as another, unless who it called is dead.
        #
        #: (?anew: bool) -> void
        def call(anew: false)
          @tickets << true if anew || @tickets.empty?
        rescue ClosedQueueError
          nil # All were woken then, and look for batches before they end.
        end

        # Whole, and its thread is born with interrupts held back. Under the lock until that has its
        # name: it takes no job before.
        #
        #: () -> void
        def add_worker
          held do
            number = (0...@size).find { |each| !@workers.key?(each) }
            @workers[number] = Worker.new(self, "#{@name}.#{number}", @reporter) if number
          end
        end

        #: [T] () { () -> T } -> T
        def held(&block)
          Thread.handle_interrupt(Worker::HELD) { @lock.synchronize(&block) }
        end

        #: (Batch) -> void
        def dismiss(batch)
          held do
            @batches.delete(batch)
            @left.broadcast if closed?
          end
        end

        # Waits until no batch is left.
        #
        #: (Float? deadline) -> bool
        def settled?(deadline)
          @lock.synchronize do
            until @batches.empty? || left(deadline)&.zero?
              @left.wait(@lock, left(deadline))
            end
            @batches.empty?
          end
        end

        # Is the calling thread in the middle of a job?
        #
        #: () -> bool
        def at_work?
          @lock.synchronize { [*@batches, *@workers.values].any?(&:mine?) }
        end

        #: (Float? deadline) -> Float?
        def left(deadline) = deadline && [deadline - OS.now, 0.0].max
      end
      private_constant :Workers
    end
  end
end
