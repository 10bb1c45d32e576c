# frozen_string_literal: true

require "skep/work/map/options"
require "skep/work/map/item_source"
require "skep/work/map/serializer"
require "skep/work/map/shared_counters"
require "skep/work/map/frame_socket"
require "skep/work/map/worker_process"
require "skep/work/map/worker_handle"
require "skep/work/map/worker_set"
require "skep/work/map/result_collector"
require "skep/work/map/fork_executor"
require "skep/work/map/inline_executor"

# Processes a collection in forked processes.
#
#   Skep::Work::Map.new(orders, nodes: 4) { |order| invoice(order) }.run    # Skep.map
#
# The caller's thread sends chunks of items, collects reports with results, and gives the items of a
# worker that died to others (ForkExecutor).
# A worker process, the "node" of options and errors, runs the block (WorkerProcess). The items of
# an Array reach it by the fork, other items are marshalled, and so are all results. Chunks grow
# until one takes 2 ms and shrink when one takes more than 8 ms. While a worker processes a chunk,
# the next one waits in its socket.
#
# Workers end by exit!: they run neither at_exit hooks nor finalizers, so that the caller's open
# resources (database connections, clients with threads) stay intact. $stdout and $stderr are
# flushed; the block must flush or close other files that it writes to.
module Skep
  module Work
    class Map
      def initialize(items, **options, &block)
        raise ArgumentError, "Skep.map needs a block to call with each item" unless block

        @items = items
        @block = block
        @options = Options.new(**options)
      end

      # Returns the results, passed through the block if one is given and the map wasn't stopped.
      def run(&transform)
        source = ItemSource.of(@items)
        collector = ResultCollector.new(@options, source)
        stop = executor(source, collector).run
        return stop.value if stop

        return_value(collector.finish, transform)
      ensure
        source&.close
        collector&.close
      end

      private

      def executor(source, collector)
        executor = @options.forks? ? ForkExecutor : InlineExecutor
        refuse_trap_context
        executor.new(@block, @options, source, collector)
      end

      # A map locks Mutexes, which Ruby forbids in a trap handler.
      def refuse_trap_context
        Mutex.new.synchronize { nil }
      rescue ThreadError
        raise Error, "Skep.map can't run in a trap handler. " \
                     "Push to a Queue there, and call it outside."
      end

      def return_value(results, transform)
        return @items unless @options.keep_results?

        transform ? transform.call(results) : results
      end
    end
  end
end
