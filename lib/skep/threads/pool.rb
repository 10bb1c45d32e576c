# frozen_string_literal: true

module Skep
  module Threads
    # So many threads that share batches of jobs.
    #
    #   pool = Pool.new(5)
    #   pool.run(orders) { |order| invoice(order) }    # => results in the items' order, after all
    #   pool.close(timeout: 5)                         # => true: all threads have ended
    #
    # Its threads start at the first run, and again in a forked child. Any thread may run batches,
    # several at a time share the threads; a job that runs a batch of its own does it all by itself,
    # in its thread. Every job is done, even if others raise; then JobsFailed tells of each. It
    # bounds nothing: the items are all in memory, and jobs have no deadline.
    class Pool
      INSIDE = :skep_pool
      private_constant :INSIDE

      attr_reader :size #: Integer

      # `name` appears in its threads': "skep.pool.0" and on. Raises ArgumentError unless size is a
      # positive Integer.
      #
      #: (Integer size, ?name: String | Symbol, ?reporter: untyped) -> void
      def initialize(size, name: "pool", reporter: Fork::Reporter)
        @size = Integer(size)
        raise ArgumentError, "a pool needs one thread at least, not #{size}" unless @size.positive?

        @name = name
        @reporter = reporter
        @batches = Inbox.new
        @lock = Mutex.new
      end

      # Calls the block with each item, in the pool's threads, and returns what it returned, in the
      # items' order. Raises JobsFailed once all are done where some raised, Pool::Closed after
      # close. What is raised here meanwhile (Timeout) takes back the jobs that haven't begun.
      #
      #: [T, R] (Enumerable[T] items) { (T) -> R } -> Array[R]
      def run(items, &block)
        batch = Batch.new(items.to_a, &block)
        raise Closed if @batches.closed?

        inside? ? batch.work : share(batch)
        batch.results
      ensure
        batch&.abandon
      end

      # Lets no batch in any more, and waits at most so many seconds, for ever by default, for those
      # that are.
      #
      #: (?timeout: Numeric?) -> bool
      def close(timeout: nil)
        deadline = timeout && (OS.now + timeout)
        @batches.close
        Array(@workers).map do |worker|
          worker.close(timeout: deadline && [deadline - OS.now, 0].max)
        end.all?
      end

      #: () -> String
      def inspect = "#<#{self.class} #{@name} size=#{size}#{" closed" if @batches.closed?}>"

      private

      # Calls so many threads to it as there are jobs, and another for each that is lost.
      #
      #: (Batch) -> void
      def share(batch)
        [size, batch.size].min.times { @batches.push(batch) }
        start
        until batch.wait
          @batches.push(batch)
          start
        end
      rescue Inbox::Closed
        raise Closed
      end

      # Starts the threads that aren't running.
      #
      #: () -> void
      def start
        @lock.synchronize { @workers ||= Array.new(size) { |number| worker(number) } }.each(&:start)
      end

      #: (Integer number) -> Background
      def worker(number)
        Background.new("#{@name}.#{number}", reporter: @reporter) do
          Thread.current.thread_variable_set(INSIDE, self)
          @batches.each(&:work)
        end
      end

      #: () -> bool
      def inside? = Thread.current.thread_variable_get(INSIDE).equal?(self)
    end
  end
end
