# frozen_string_literal: true

# The processes there are, by their slot on the page.
#
#   roster = Roster.new(1_024)
#   node = roster.add { |slot| Node.new(slot, seat, mold, now) }
#   roster[node.slot]         # => node
#   roster.remove(node)       # its slot is free for another
#
# There are many more slots than seats: a seat has two processes while one takes over from another.
# Of the page only those ever used take memory.
module Skep
  class Swarm
    class Roster
      include Kept

      KEPT = %i[next free].freeze

      # No slot is left; told as the system's refusals to fork are.
      class Full < SystemCallError
        def initialize = super("the page has no room for another node", Errno::EAGAIN::Errno)
      end

      LEAST = 1_024
      private_constant :LEAST

      # Room for so many seats, twice that, and for more to come.
      def self.slots_for(seats) = [4 * seats, LEAST].max #: (Integer) -> Integer

      attr_reader :slots #: Integer

      def initialize(slots) #: (Integer) -> void
        @slots = slots
        @nodes = {}
        @next = 0
        @free = []
      end

      def nodes = @nodes.values #: () -> Array[Node]
      def [](slot) = @nodes[slot] #: (Integer) -> Node?
      def of(mold) = nodes.select { |node| node.mold == mold } #: (Mold) -> Array[Node]

      # Do any but the helper's exist?
      def work? = @nodes.any? { |_, node| !node.helper? } #: () -> bool

      def add #: () { (Integer) -> Node } -> Node
        slot = @free.shift || unused
        @nodes[slot] = yield slot
      end

      # One that has its slot already.
      def put(node) = @nodes[node.slot] = node #: (Node) -> Node

      def remove(node) #: (Node) -> void
        @free << node.slot if @nodes.delete(node.slot)
      end

      private

      def unused
        raise Full if @next == @slots

        (@next += 1) - 1
      end
    end
  end
end
