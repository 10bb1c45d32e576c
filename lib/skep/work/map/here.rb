# frozen_string_literal: true

module Skep
  module Work
    class Map
      # A map done in this process: in the caller's thread with `nodes: 0`, in so many others with
      # `in_threads:`. Hooks, Stop and exceptions are the same as with nodes.
      #
      #   Here.new(block, options, source, harvest).run    # => nil, or the Stop that ended it
      class Here
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
          threads = Array.new([@count, @source.size].compact.min) { |n| start(n, chunks) }
          while (chunk = take)
            chunks << chunk
          end
          chunks.close
          threads.each(&:join)
        ensure # An exception meant for the caller (Timeout, Interrupt) ends them too.
          threads&.each(&:kill)&.each(&:join)
        end

        #: (Integer number, Thread::SizedQueue) -> Thread
        def start(number, chunks)
          Thread.new do
            Thread.current.name = "skep.map.#{number}"
            Thread.current.report_on_exception = false # join tells
            while (chunk = chunks.pop)
              work(chunk)
            end
          end
        end

        #: () -> Chunk?
        def take = over? ? nil : @source.take(1)

        #: () -> bool
        def over? = !(@stop || @error).nil?

        #: (Chunk) -> void
        def work(chunk)
          return if over?

          @lock.synchronize { @harvest.begin(chunk) }
          result = attempt(chunk)
          @lock.synchronize { @harvest.take(chunk, 1, result) } if result
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
        rescue StandardError => e # for the caller to raise
          @error ||= AtItem.mark(e, item, chunk.from)
          nil
        end
      end
      private_constant :Here
    end
  end
end
