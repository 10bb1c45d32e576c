# frozen_string_literal: true

# Looks at nodes' memory when it is time to, many at a time.
#
#   scales = Scales.new(loop) { |node, now| seconds }   # a look; it says when to look again
#   watch = scales.watch(node, 0.25)   # for the first time in so many seconds
#   scales.hasten(node)                # look as soon as possible
#   watch.cancel                       # no more: it has ended
#
# Looks are made somewhat early, many in one turn of the loop, so that a still swarm sleeps; and no
# turn makes more than a slice of them, so that a large one isn't held up.
module Skep
  class Swarm
    class Scales
      Watch = Struct.new(:scales, :node) do
        def cancel = scales.forget(node) #: () -> void
      end

      SLICE = 50 # looks a turn, each some 20 microseconds
      GRIDS = [30.0, 15.0, 5.0, 1.0, 0.25].freeze # seconds; the coarsest that isn't too coarse
      SOON = 0.0
      private_constant :Watch, :SLICE, :GRIDS, :SOON

      def initialize(loop, &look) #: (OS::Loop) { (Node, Float) -> Float } -> void
        @loop = loop
        @look = look
        @due = {}.compare_by_identity
        @turns = {}
      end

      def watch(node, seconds) #: (Node, Float) -> Watch
        later(node, seconds)
        Watch.new(self, node)
      end

      def hasten(node) = plan(node, SOON) #: (Node) -> void

      def forget(node) #: (Node) -> void
        @turns[@due.delete(node)]&.delete(node)
      end

      def inspect = "#<#{self.class} nodes=#{@due.size}>" #: () -> String

      private

      def later(node, seconds)
        now = OS.now
        at = now + seconds
        grid = GRIDS.find { |one| one <= seconds }
        plan(node, grid ? [(at / grid).floor * grid, now].max : at)
      end

      def plan(node, at)
        forget(node)
        @due[node] = at
        @turns[at] ||= new_turn(at)
        @turns[at][node] = true
      end

      # One that is made in a turn of the loop isn't for that one.
      def new_turn(at)
        at == SOON ? @loop.after(0) { turn(at) } : @loop.at(at) { turn(at) }
        {}.compare_by_identity
      end

      def turn(at)
        nodes = @turns.delete(at).keys
        nodes.drop(SLICE).each { |node| plan(node, SOON) }
        nodes.first(SLICE).each { |node| look(node) if @due[node] == at }
      end

      def look(node)
        @due.delete(node)
        seconds = @look.call(node, OS.now)
        later(node, seconds) unless @due[node] # it has been hastened
      end
    end
  end
end
