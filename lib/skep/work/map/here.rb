# frozen_string_literal: true

module Skep
  module Work
    class Map
      # A map done in this process: in the caller's thread with `nodes: 0`, in so many others with
      # `in_threads:`. Hooks, Stop and exceptions are the same as with nodes.
      #
      #   Here.new(block, options, source, harvest).run    # => nil, or the Stop that ended it
      class Here
        KILLED = "the block ended its thread (Thread.exit, or a kill from elsewhere): " \
                 "raise Skep::Stop to end a map early"
        private_constant :KILLED

        #: (Proc, Options, untyped source, Harvest) -> void
        def initialize(block, options, source, harvest)
          @block = block
          @with_index = options.with_index?
          @count = options.in_threads
          @source = source
          @harvest = harvest
          @lock = Mutex.new
        end

        #: () -> Stop?
        def run
          @count.zero? ? work_alone : share
          raise @error if @error

          @stop
        end

        private

        #: () -> void
        def work_alone
          while (chunk = take)
            work(chunk)
          end
        end

        # The caller's thread takes the items, which may be a fiber's.
        #
        #: () -> void
        def share
          chunks = Thread::SizedQueue.new(1)
          threads = []
          [@count, @source.size].compact.min.times { |n| threads << start(n, chunks) }
          nil while (chunk = take) && offer(chunk, chunks)
          chunks.close
          threads.each(&:join)
        ensure # An exception meant for the caller (Timeout, Interrupt) ends the threads too.
          chunks&.close
          threads&.each(&:kill)&.each(&:join)
        end

        # False when a thread has failed and closed the queue.
        #
        #: (Chunk, Thread::SizedQueue) -> bool
        def offer(chunk, chunks)
          chunks << chunk
          true
        rescue ClosedQueueError
          false
        end

        # No exception leaves the thread: `join` would raise it in place of one that is on its way
        # to the caller.
        #
        #: (Integer number, Thread::SizedQueue) -> Thread
        def start(number, chunks)
          Thread.new do
            Thread.current.name = "skep.map.#{number}"
            while (chunk = chunks.pop)
              work(chunk)
            end
            ended = true
          rescue Exception => e # rubocop:disable Lint/RescueException -- for the caller to raise
            @error ||= e
          ensure
            @error ||= Error.new(KILLED) unless ended
            chunks.close
          end
        end

        #: () -> Chunk?
        def take = over? ? nil : @source.take(1)

        #: () -> bool
        def over? = !(@stop || @error).nil?

        # Hooks are called one at a time, and none after a failure.
        #
        #: (Chunk) -> void
        def work(chunk)
          return unless @lock.synchronize { over? ? nil : begin_with(chunk) }

          result = attempt(chunk)
          @lock.synchronize { @harvest.take(chunk, 1, result) if result && !@error }
        rescue Exception => e # rubocop:disable Lint/RescueException -- nothing more is begun
          @error ||= e
          raise
        end

        #: (Chunk) -> true
        def begin_with(chunk)
          @harvest.begin(chunk)
          true
        end

        # The result in an Array; nil when that was the end.
        #
        #: (Chunk) -> [untyped]?
        def attempt(chunk)
          item = chunk.items.first
          [@with_index ? @block.call(item, chunk.from) : @block.call(item)]
        rescue Stop => e
          @stop ||= e
          nil
        rescue SystemExit, SignalException, NoMemoryError
          raise # They are about the process, not about this item.
        rescue Exception => e # rubocop:disable Lint/RescueException -- for the caller to raise
          @error ||= AtItem.mark(e, item, chunk.from)
          nil
        end
      end
      private_constant :Here
    end
  end
end
