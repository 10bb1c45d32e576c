# frozen_string_literal: true

# The processes there are, by their index on the page.
#
#   node_table = NodeTable.new(1_024)
#   node = node_table.add { |page_index| NodeProcess.new(page_index, slot, mold, now) }
#   node_table[node.page_index]   # => node
#   node_table.remove(node)       # its index is free for another
#
# There are many more of these than slots: a slot has two processes while one takes over from
# another. Of the page only those ever used take memory.
module Skep
  class Swarm
    module Nodes
      class NodeTable
        include Runtime::Persisted

        KEPT = %i[next free].freeze

        # No index is left; told as the system's refusals to fork are.
        class Full < SystemCallError
          def initialize = super("the page has no room for another node", Errno::EAGAIN::Errno)
        end

        LEAST = 1_024
        private_constant :LEAST

        # Room for so many slots, twice that, and for more to come.
        def self.slots_for(slots) = [4 * slots, LEAST].max #: (Integer) -> Integer

        attr_reader :capacity #: Integer

        def initialize(capacity) #: (Integer) -> void
          @capacity = capacity
          @nodes = {}
          @next = 0
          @free = []
        end

        def nodes = @nodes.values #: () -> Array[NodeProcess]
        def [](page_index) = @nodes[page_index] #: (Integer) -> NodeProcess?

        #: (Molds::Mold) -> Array[NodeProcess]
        def of(mold)
          nodes.select { |node| node.mold == mold }
        end

        # Do any but the helper's exist?
        def work? = @nodes.any? { |_, node| !node.helper? } #: () -> bool

        def add #: () { (Integer) -> NodeProcess } -> NodeProcess
          page_index = @free.shift || unused
          @nodes[page_index] = yield page_index
        end

        # One that has its index already.
        def put(node) = @nodes[node.page_index] = node #: (NodeProcess) -> NodeProcess

        def remove(node) #: (NodeProcess) -> void
          @free << node.page_index if @nodes.delete(node.page_index)
        end

        private

        def unused
          raise Full if @next == @capacity

          (@next += 1) - 1
        end
      end
    end
  end
end
