# frozen_string_literal: true

module Skep
  module Threads
    class Pool
      # The jobs of one run and their results.
      #
      #   batch = Batch.new(items, size: 5, help: true) { |item| … }
      #   batch.enter && batch.work    # in a thread of the pool, which then leaves
      #   batch.settle                 # in the caller: does jobs, waits for the other threads
      #   batch.results                # or raises JobsFailed
      #
      # Taking a job needs no lock: it is one call of Array#shift, which is atomic under the GVL.
      # The batch is over once no job is left to take and no thread works on it. So the caller
      # notices the end of the last job as well as a killed thread, and is woken once, not for each
      # job.
      class Batch
        UNDONE = Object.new
        # Errors in the caller's thread that count as the job's failure. Others are for the caller.
        FAILURES = [StandardError, ScriptError, SystemStackError, NoMemoryError, SecurityError,
                    ThreadKilled::OfMain].freeze
        private_constant :UNDONE, :FAILURES

        # `size` is how many threads may work on it at a time; with `help` the caller is one.
        def initialize(items, size:, help:, &block)
          raise ArgumentError, "a batch needs a block to call with each item" unless block

          @items, @block, @helped = items, block, help
          @most = help ? size - 1 : size
          @todo = (0...items.size).to_a
          @results = Array.new(items.size, UNDONE)
          @failures = {}
          @inside = 0
          @lost = false
          @done = Thread::Queue.new
          @caller, @generation = Thread.current, OS::Generation.count
        end

        def helped? = @helped

        # Returns true if the calling thread runs it.
        def mine? = @caller.equal?(Thread.current)

        # Returns true if one more thread can work on it, apart from `taken` jobs about to be taken.
        def wanting?(taken = 0) = @todo.size > taken && @inside < @most

        # Registers the calling thread to work on it. Called under the workers' lock, as `leave` is.
        def enter = wanting? && !!(@inside += 1)

        # Unregisters the calling thread; `whole` is false if it was killed at work.
        def leave(whole:)
          @lost ||= !whole
          @inside -= 1
          @done << true if over?
        end

        # Does jobs until none is left to take. Records `errors` as their failures.
        def work(errors = [Exception])
          while (index = take)
            begin
              @results[index] = @block.call(@items[index])
            rescue *errors => error
              note(index, error)
            end
          end
        end

        # Does the caller's share of the jobs; returns once the batch is over.
        def settle
          work(FAILURES) if helped?
          @done.pop until over? || !here?
        end

        # Raises JobsFailed, or a job's SystemExit.
        def results
          raise ForkedInJob unless here?

          note_lost if @lost
          return @results if @failures.empty?

          fail_with(@failures.sort_by(&:first))
        end

        # Cancels the jobs that haven't started.
        def abandon = @todo.clear

        private

        # Returns the index of a job for the calling thread; nil in a child that a job forked, as
        # the parent does the jobs.
        def take = (@todo.shift if here?)

        def here? = @generation == OS::Generation.count

        # In this order: the thread that took the last job entered before it did.
        def over? = @todo.empty? && @inside.zero?

        def note(index, error)
          error = ThreadKilled.new if ThreadKilled::OfMain === error
          @failures[index] = error
          abandon if error.is_a?(SystemExit)
        end

        def note_lost
          @results.each_with_index do |result, index|
            @failures[index] ||= ThreadKilled.new if result.equal?(UNDONE)
          end
        end

        def fail_with(errors)
          ending = errors.map(&:last).grep(SystemExit).first
          raise ending if ending

          failures = errors.map do |index, error|
            Failure.new(item: @items[index], index:, error:).freeze
          end
          raise JobsFailed.new(failures:, size: @items.size), cause: failures.first.error
        end
      end
      private_constant :Batch
    end
  end
end
