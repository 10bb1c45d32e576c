# frozen_string_literal: true

module Skep
  module Threads
    # A fixed number of threads that share batches of jobs.
    #
    #   pool = Pool.new(5)
    #   pool.run(orders) { |order| invoice(order) }    # => results in the items' order
    #   pool.close(timeout: 5)                         # => true: all threads have ended
    #
    # Batch holds the jobs of one run; Workers the threads, each a Worker.
    #
    # The thread that calls #run does jobs too, and wakes another thread only if more jobs are left,
    # so that short jobs need no switch. At most `size` jobs of a batch run at a time. Threads start
    # when they are needed, and are replaced after a kill and in a forked child. Several threads may
    # run batches at the same time; a job may run batches, too. All jobs run, even if some raise;
    # then JobsFailed lists the failures. Items are kept in memory, and jobs have no deadline.
    class Pool
      FORK_LOCK = Mutex.new # Of all pools, held briefly. Ruby unlocks it in a forked child.
      private_constant :FORK_LOCK

      attr_reader :size # the most threads

      # Its threads are named after `name`: "skep.pool.0" and so on. Raises ArgumentError unless
      # size is a positive Integer.
      def initialize(size, name: "pool", reporter: Fork::Reporter)
        @size = Integer(size)
        raise ArgumentError, "a pool needs one thread at least, not #{size}" unless @size.positive?

        @name = name
        @workers = Workers.new(@size, name:, reporter:)
      end

      # Calls the block with each item and returns the results, in the items' order. Raises
      # JobsFailed after the last job if some raised, and Pool::Closed after close. An exception
      # that is raised in the calling thread meanwhile (Timeout, Interrupt) cancels the jobs that
      # haven't started and ends the job in progress in this thread; if another thread raises a
      # StandardError here, it counts as that job's failure. A job that exits ends the program: run
      # raises SystemExit. A job can't leave the batch by break or throw: that is an error in a
      # thread of the pool.
      #
      # With `help: false` the calling thread does no jobs. It never does any if it has a Fiber
      # scheduler, whose other fibers run meanwhile, and always does inside a job.
      def run(items, help: true, &block)
        help = (help && !Fiber.current_scheduler) || Worker.inside?
        batch = Batch.new(items.to_a, size:, help:, &block)
        workers.host(batch)
        batch.results
      end

      # Accepts no more batches, and waits up to `timeout` seconds (nil: no limit) until those in
      # progress are done and the threads have ended. Returns false after the timeout, and at once
      # if called inside one of its own jobs, which it can't wait for.
      def close(timeout: nil) = workers.close(timeout && (OS.now + timeout))

      def inspect = "#<#{self.class} #{@name} size=#{size}#{" closed" if workers.closed?}>"

      private

      # Returns the threads of this process; a forked child starts without any.
      def workers
        return @workers if @workers.here?

        FORK_LOCK.synchronize { @workers = @workers.here? ? @workers : @workers.for_child }
      end
    end
  end
end
