# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Runs a map in this process: in the caller's thread with `nodes: 0`, in that many threads
      # with `in_threads:`. Hooks, Stop and exceptions are the same as with nodes.
      #
      #   InlineExecutor.new(block, options, source, collector).run    # => nil, or the Stop
      class InlineExecutor
        KILLED = "The block ended its thread (Thread.exit, or Thread#kill elsewhere). " \
                 "Raise Skep::Stop to end a map early."
        private_constant :KILLED

        def initialize(block, options, source, collector)
          @block = block
          @with_index = options.with_index?
          @count = options.in_threads
          @source = source
          @collector = collector
          @lock = Mutex.new
        end

        def run
          @count.zero? ? run_alone : run_threads
          raise @error if @error

          @stop
        end

        private

        def run_alone
          while (chunk = take)
            process(chunk)
          end
        end

        # The caller's thread takes the items: the source may be a fiber of that thread.
        def run_threads
          chunks = Thread::SizedQueue.new(1)
          threads = []
          [@count, @source.size].compact.min.times { |i| threads << start_thread(i, chunks) }
          nil while (chunk = take) && push(chunk, chunks)
          chunks.close
          threads.each(&:join)
        ensure # An exception for the caller (Timeout, Interrupt) ends the threads, too.
          chunks&.close
          threads&.each(&:kill)&.each(&:join)
        end

        # Returns false if a thread has failed and closed the queue.
        def push(chunk, chunks)
          chunks << chunk
          true
        rescue ClosedQueueError
          false
        end

        # Rescues all exceptions: `join` would raise them in place of one that the caller's thread
        # is just raising.
        def start_thread(index, chunks)
          Thread.new do
            Thread.current.name = "skep.map.#{index}"
            while (chunk = chunks.pop)
              process(chunk)
            end
            finished = true
          rescue Exception => e # rubocop:disable Lint/RescueException -- raised in the caller
            @error ||= e
          ensure
            @error ||= Error.new(KILLED) unless finished
            chunks.close
          end
        end

        def take = over? ? nil : @source.take(1)

        def over? = !(@stop || @error).nil?

        # Calls the hooks one at a time, and none after a failure.
        def process(chunk)
          return unless @lock.synchronize { over? ? nil : started(chunk) }

          result = call_block(chunk)
          @lock.synchronize { @collector.completed(chunk, 1, result) if result && !@error }
        rescue Exception => e # rubocop:disable Lint/RescueException -- no other item is started
          @error ||= e
          raise
        end

        def started(chunk)
          @collector.started(chunk)
          true
        end

        # Returns the result in an Array; nil if the block has ended the map.
        def call_block(chunk)
          item = chunk.items.first
          [@with_index ? @block.call(item, chunk.from) : @block.call(item)]
        rescue Stop => e
          @stop ||= e
          nil
        rescue SystemExit, SignalException, NoMemoryError
          raise # These are about the process, not about this item.
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised in the caller
          @error ||= ItemContext.add(e, item, chunk.from)
          nil
        end
      end
      private_constant :InlineExecutor
    end
  end
end
