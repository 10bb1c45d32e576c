# frozen_string_literal: true

require "skep/work/map/options"
require "skep/work/map/chunk"
require "skep/work/map/source"
require "skep/work/map/listed"
require "skep/work/map/streamed"
require "skep/work/map/pace"
require "skep/work/map/frame"
require "skep/work/map/claims"
require "skep/work/map/cargo"
require "skep/work/map/ordeal"
require "skep/work/map/wire"
require "skep/work/map/hand"
require "skep/work/map/child"
require "skep/work/map/node"
require "skep/work/map/bar"
require "skep/work/map/harvest"
require "skep/work/map/losses"
require "skep/work/map/roster"
require "skep/work/map/crew"
require "skep/work/map/here"

# Work that has an end, done by forked nodes.
#
#   Skep::Work::Map.new(orders, nodes: 4) { |order| invoice(order) }.run    # Skep.map
#
# The caller's thread hands out chunks of items and collects reports of results (Crew); a node
# (Child) works them off. An Array's items cross by the fork itself, others are marshalled; results
# are, always. A chunk grows until it takes 2 ms and shrinks when it takes over 8; while it is
# worked off the next waits in the node's socket already.
#
# Nodes end by exit!: neither at_exit hooks nor finalizers run in them, so that what the caller has
# open (database connections, librdkafka clients) stays whole. $stdout and $stderr are flushed;
# other files that the block writes to it must flush or close.
module Skep
  module Work
    class Map
      #: (untyped items, **untyped) { (*untyped) -> untyped } -> void
      def initialize(items, **options, &block)
        raise ArgumentError, "a map needs a block to call with each item" unless block

        @items = items
        @block = block
        @options = Options.new(**options)
      end

      # The results; through the block, if there is one, when the map wasn't stopped.
      #
      #: () ?{ (Array[untyped]) -> untyped } -> untyped
      def run(&change)
        source = Source.of(@items)
        harvest = Harvest.new(@options, source)
        stop = team(source, harvest).run
        return stop.value if stop

        outcome(harvest.finish, change)
      ensure
        source&.close
        harvest&.close
      end

      private

      #: (untyped source, Harvest) -> (Crew | Here)
      def team(source, harvest)
        kind = @options.forks? ? Crew : Here
        refuse_traps
        kind.new(@block, @options, source, harvest)
      end

      # A trap handler can't lock, and so can't map.
      #
      #: () -> void
      def refuse_traps
        Mutex.new.synchronize { nil }
      rescue ThreadError
        raise Error, "a map can't run in a trap handler: push to a Queue there, and map outside"
      end

      #: (Array[untyped] results, Proc? change) -> untyped
      def outcome(results, change)
        return @items unless @options.keep?

        change ? change.call(results) : results
      end
    end
  end
end
