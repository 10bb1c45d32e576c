# frozen_string_literal: true

module Skep
  module Threads
    class Pool
      # One run's jobs and what became of them.
      #
      #   batch = Batch.new(items) { |item| … }
      #   batch.work          # in the pool's threads, in as many as like
      #   batch.wait          # in the caller's
      #   batch.results       # or JobsFailed
      #
      # The caller waits by popping a queue, and is woken once, not for each job.
      class Batch
        #: (Array[untyped] items) { (untyped) -> untyped } -> void
        def initialize(items, &block)
          raise ArgumentError, "a batch needs a block to call with each item" unless block

          @items = items
          @block = block
          @results = Array.new(items.size)
          @failures = {}
          @next = 0
          @left = items.size
          @lock = Mutex.new
          @news = Thread::Queue.new
          @abandoned = false
        end

        #: () -> Integer
        def size = @items.size

        # Does jobs until none is left to take. Never raises.
        #
        #: () -> void
        def work
          while (index = take)
            perform(index)
          end
        end

        # Waits for news: true when all jobs are done, false when a thread was lost that may be
        # needed.
        #
        #: () -> bool
        def wait = @left.zero? || @news.pop

        #: () -> Array[untyped]
        def results
          return @results if @failures.empty?

          failures = @failures.sort_by(&:first).map do |index, error|
            Failure.new(item: @items[index], index:, error:).freeze
          end
          raise JobsFailed.new(failures:, size:), cause: failures.first.error
        end

        # Jobs that haven't begun are left undone from now on.
        #
        #: () -> void
        def abandon = @abandoned = true

        private

        # The index of a job for the calling thread to do.
        #
        #: () -> Integer?
        def take
          @lock.synchronize { (@next += 1) - 1 unless @abandoned || @next == size }
        end

        #: (Integer index) -> void
        def perform(index)
          @results[index] = @block.call(@items[index])
          settled = true
        rescue Exception => error # rubocop:disable Lint/RescueException -- for results to raise
          settled = !!(@failures[index] = error)
        ensure
          lose(index) unless settled
          @news << true if @lock.synchronize { (@left -= 1).zero? }
        end

        # The calling thread was killed in the middle of a job, and ends with it.
        #
        #: (Integer index) -> void
        def lose(index)
          @failures[index] = ThreadKilled.new
          @news << false
        end
      end
      private_constant :Batch
    end
  end
end
