# frozen_string_literal: true

# The node processes that exist, by their index on the shared page.
#
#   node_table = NodeTable.new(1_024)
#   node = node_table.add { |page_index| NodeProcess.new(page_index, slot, mold, now) }
#   node_table[node.page_index]   # => node
#   node_table.remove(node)       # frees its index
#
# The process of a node whose mold died before it reported the fork may exist, unknown to the
# supervisor, until `orphan_timeout`, and write to its cells. Until then no other node gets
# its index, as long as there are others.
#
# There are more indices than slots: during a replacement a slot has two processes. Indices
# that were never used take no memory of the page.
module Skep
  class Swarm
    module Nodes
      class NodeTable
        # No index is free. It is reported like a fork that the system refuses.
        class Full < StandardError
          def initialize = super("the page has no room for another node")
        end

        LEAST = 1_024
        private_constant :LEAST

        # Returns the capacity for a number of slots: two processes each, and room for new slots.
        def self.slots_for(slots) = [4 * slots, LEAST].max

        attr_reader :capacity

        # quarantine: seconds until the index of a node is free whose fork was never reported.
        def initialize(capacity, quarantine: 0.0)
          @capacity = capacity
          @quarantine = quarantine
          @nodes = {}
          @next = 0
          @free = []
          @unreported = [] # [index, since]
        end

        def nodes = @nodes.values
        def [](page_index) = @nodes[page_index]
        def include?(node) = @nodes[node.page_index].equal?(node)

        def of(mold)
          nodes.select { |node| node.mold == mold }
        end

        # Returns true if there are processes other than the helper.
        def work? = @nodes.any? { |_, node| !node.helper? }

        def add
          release_unreported
          page_index = @free.shift || unused
          @nodes[page_index] = yield page_index
        end

        def remove(node)
          return unless @nodes.delete(node.page_index)

          node.pid ? @free << node.page_index : @unreported << [node.page_index, OS.now]
        end

        private

        def release_unreported(now = OS.now)
          while @unreported.any? && @unreported.first.last + @quarantine <= now
            @free << @unreported.shift.first
          end
        end

        def unused
          return (@next += 1) - 1 if @next < @capacity

          index, = @unreported.shift
          index or raise Full
        end
      end
    end
  end
end
