# frozen_string_literal: true

module Skep
  module Threads
    class Pool
      # One run's jobs and what became of them.
      #
      #   batch = Batch.new(items, size: 5, help: true) { |item| … }
      #   batch.enter && batch.work    # in a pool's thread, which leaves then
      #   batch.settle                 # in the caller's: does jobs, waits for the others' threads
      #   batch.results                # or JobsFailed
      #
      # To take a job costs no lock: it is one call of Array#shift, which Ruby's own lock makes
      # whole. The batch is over once nothing is left to take and no thread is at work on it any
      # more. So neither a job's end nor a thread's death in any line of this file goes unnoticed,
      # and the caller is woken once, not for each job.
      class Batch
        UNDONE = Object.new
        # What the caller takes for a job's own failure. What else comes is meant for the caller.
        FAILURES = [StandardError, ScriptError, SystemStackError, NoMemoryError, SecurityError,
                    ThreadKilled::OfMain].freeze
        private_constant :UNDONE, :FAILURES

        # `size` is how many threads may work on it at a time, `help` whether the caller is of them.
        #
        #: (Array[untyped] items, size: Integer, help: bool) { (untyped) -> untyped } -> void
        def initialize(items, size:, help:, &block)
          raise ArgumentError, "a batch needs a block to call with each item" unless block

          @items, @block, @helped = items, block, help
          @most = help ? size - 1 : size
          @todo = (0...items.size).to_a
          @results = Array.new(items.size, UNDONE)
          @failures = {}
          @hands = 0
          @lost = false
          @news = Thread::Queue.new
          @caller, @generation = Thread.current, OS::Generation.count
        end

        #: () -> bool
        def helped? = @helped

        # Does the calling thread run it?
        #
        #: () -> bool
        def mine? = @caller.equal?(Thread.current)

        # Is there work for one more thread, beside so many jobs that are as good as taken?
        #
        #: (?Integer taken) -> bool
        def wanting?(taken = 0) = @todo.size > taken && @hands < @most

        # Lets the calling thread in to work on it. Called under the workers' lock, as `leave` is.
        #
        #: () -> bool
        def enter = wanting? && !!(@hands += 1)

        # The calling thread has ended its work, or was killed at it, and so isn't `whole`.
        #
        #: (whole: bool) -> void
        def leave(whole:)
          @lost ||= !whole
          @hands -= 1
          @news << true if over?
        end

        # Does jobs until none is left to take, rescuing such errors of theirs.
        #
        #: (?Array[Class] errors) -> void
        def work(errors = [Exception])
          while (index = take)
            begin
              @results[index] = @block.call(@items[index])
            rescue *errors => error
              note(index, error)
            end
          end
        end

        # Does what the caller is to do itself; returns once all is done.
        #
        #: () -> void
        def settle
          work(FAILURES) if helped?
          @news.pop until over? || !here?
        end

        # Raises JobsFailed, or what a job raised to end the program.
        #
        #: () -> Array[untyped]
        def results
          raise ForkedInJob unless here?

          note_lost if @lost
          return @results if @failures.empty?

          fail_with(@failures.sort_by(&:first))
        end

        # Jobs that haven't begun are left undone from now on.
        #
        #: () -> void
        def abandon = @todo.clear

        private

        # The index of a job for the calling thread to do. None in the child of a job that forked:
        # they are the parent's to do.
        #
        #: () -> Integer?
        def take = (@todo.shift if here?)

        #: () -> bool
        def here? = @generation == OS::Generation.count

        # In this order: who has taken the last of what was to do entered before that.
        #
        #: () -> bool
        def over? = @todo.empty? && @hands.zero?

        #: (Integer index, Exception) -> void
        def note(index, error)
          error = ThreadKilled.new if ThreadKilled::OfMain === error
          @failures[index] = error
          abandon if error.is_a?(SystemExit)
        end

        #: () -> void
        def note_lost
          @results.each_with_index do |result, index|
            @failures[index] ||= ThreadKilled.new if result.equal?(UNDONE)
          end
        end

        #: (Array[[Integer, Exception]]) -> bot
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
