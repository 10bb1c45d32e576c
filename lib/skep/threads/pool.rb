# frozen_string_literal: true

module Skep
  module Threads
    # So many threads that share batches of jobs.
    #
    #   pool = Pool.new(5)
    #   pool.run(orders) { |order| invoice(order) }    # => results in the items' order, after all
    #   pool.close(timeout: 5)                         # => true: all threads have ended
    #
    # Whoever runs a batch takes jobs of it too, and wakes a thread only where there are more: short
    # jobs are over before another thread could have begun. At most `size` jobs of a batch are under
    # way at a time. Threads start when they are needed, and again where one was killed and in a
    # forked child. Any thread may run batches, several at a time share the pool's; a job may run
    # batches of its own. Every job is done, even if others raise; then JobsFailed tells of each. It
    # bounds nothing else: the items are all in memory, and jobs have no deadline.
    class Pool
      RENEWAL = Mutex.new # One for all, for a moment only: Ruby frees it in a forked child.
      private_constant :RENEWAL

      attr_reader :size #: Integer, threads at most

      # `name` appears in its threads': "skep.pool.0" and on. Raises ArgumentError unless size is a
      # positive Integer.
      #
      #: (Integer size, ?name: String | Symbol, ?reporter: untyped) -> void
      def initialize(size, name: "pool", reporter: Fork::Reporter)
        @size = Integer(size)
        raise ArgumentError, "a pool needs one thread at least, not #{size}" unless @size.positive?

        @name = name
        @workers = Workers.new(@size, name:, reporter:)
      end

      # Calls the block with each item and returns what it returned, in the items' order. Raises
      # JobsFailed once all are done where some raised, Pool::Closed after close. What is raised
      # here meanwhile (Timeout, Interrupt) takes back the jobs that haven't begun, and ends the one
      # that the calling thread does itself; a StandardError that another thread raises here during
      # that one counts as its failure. A job that exits ends the program: run raises SystemExit. A
      # job can't leave the batch by break or throw: that is an error in a thread of the pool.
      #
      # `help: false` keeps the calling thread from doing jobs. It never does any where it has a
      # Fiber scheduler, whose other fibers go on meanwhile, and always does in a job.
      #
      #: [T, R] (Enumerable[T] items, ?help: bool) { (T) -> R } -> Array[R]
      def run(items, help: true, &block)
        help = (help && !Fiber.current_scheduler) || Worker.inside?
        batch = Batch.new(items.to_a, size:, help:, &block)
        workers.host(batch)
        batch.results
      end

      # Lets no batch in any more, and waits at most so many seconds, for ever by default, for those
      # that are, and for the threads to end. In one of its own jobs, which it can't wait for, it is
      # false at once.
      #
      #: (?timeout: Numeric?) -> bool
      def close(timeout: nil) = workers.close(timeout && (OS.now + timeout))

      #: () -> String
      def inspect = "#<#{self.class} #{@name} size=#{size}#{" closed" if workers.closed?}>"

      private

      # The threads of this process.
      #
      #: () -> Workers
      def workers
        return @workers if @workers.here?

        RENEWAL.synchronize { @workers = @workers.here? ? @workers : @workers.for_child }
      end
    end
  end
end
