# frozen_string_literal: true

# Looks at nodes' memory when it is time to, many at a time.
#
#   scales = Scales.new(loop) { |node, now| seconds }   # a look; it says when to look again
#   scales.watch(node, 0.25)      # for the first time in so many seconds, until it has ended
#   scales.hasten(node)           # look as soon as possible
#
# Looks that are due at nearly the same time are made in one turn of the loop, so that a still swarm
# sleeps; and no turn makes more than a slice of them, so that a large one isn't held up.
module Skep
  class Swarm
    class Scales
      SLICE = 50 # looks a turn, each some 20 microseconds
      GRIDS = [5.0, 1.0, 0.25].freeze # seconds; the coarsest that moves a look by half at most
      private_constant :SLICE, :GRIDS

      def initialize(loop, &look) #: (OS::Loop) { (Node, Float) -> Float } -> void
        @loop = loop
        @look = look
        @due = {}.compare_by_identity
        @turns = {}
      end

      def watch(node, seconds) #: (Node, Float) -> void
        now = OS.now
        at = now + seconds
        grid = GRIDS.find { |one| one <= seconds / 2 }
        at = [(at / grid).floor * grid, now].max if grid
        @due[node] = at
        @turns[at] ||= [].tap { @loop.at(at) { turn(at) } }
        @turns[at] << node
      end

      def hasten(node) = watch(node, 0.0) #: (Node) -> void

      def inspect = "#<#{self.class} nodes=#{@due.size}>" #: () -> String

      private

      def turn(at)
        nodes = @turns.delete(at)
        rest = nodes.drop(SLICE)
        continue(at, rest) if rest.any?
        nodes.first(SLICE).each { |node| look(node) if @due[node] == at }
      end

      def continue(at, rest)
        @turns[at] = rest
        @loop.after(0) { turn(at) }
      end

      def look(node)
        @due.delete(node)
        watch(node, @look.call(node, OS.now)) if node.live?
      end
    end
  end
end
