# frozen_string_literal: true

# Compares the memory of the whole swarm with `memory_budget`, and picks the node to replace if it
# is exceeded.
#
#   memory_budget = MemoryBudget.new(4 << 30, events:)
#   memory_budget.check(nodes) { |node, action| … }   # action: :replace or :stop; the block returns
#                                                     # true if it took that action
#   memory_budget.seconds_left(nodes)   # until the swarm exceeds the budget as it grows now
#
# The total approximates the PSS of all processes without counting their pages: the resident memory
# of the molds plus the private memory of the nodes. What a node shares, it shares with its mold.
module Skep
  class Swarm
    module Memory
      class MemoryBudget
        HARD = 1.25 # times the budget: the node is stopped before its successor is ready
        WORTH = 3 # a replacement must free a third of the node's memory, or the whole excess
        private_constant :HARD, :WORTH

        def initialize(bytes, events:)
          @bytes = bytes
          @events = events
          @total = 0
        end

        # One node at a time: the next is picked once the last has ended, or can't be replaced.
        def check(nodes)
          @total = molds(nodes) + nodes.sum { |node| node.node_memory.uss_min }
          leaving = nodes.find { |node| [node.replace_for, node.reason].include?("memory_budget") }
          action, node = decide(@total, running(nodes), leaving)
          return report_too_small(action) unless node
          return unless yield(node, action)

          @events.publish(:swarm_over_budget, node,
                          level: :warn, bytes: @total, budget: @bytes,
                          uss: node.node_memory.uss_min, at_once: action == :stop)
        end

        # Decides whether the swarm exceeds its budget, and which node to replace. Pure.
        #
        #   decide(5 << 30, { node => node_memory }, leaving)   # leaving: the node picked last
        #   # => nil: within the budget, or that node hasn't ended yet
        #   # => [:replace, node]; [:stop, node] if the excess is too large to wait for a successor
        #   # => [:too_small]: no replacement would free more than its successor uses
        #
        # It picks the node whose private memory (USS) has grown most since it was young: a large
        # but steady one would free nothing, and shared memory isn't freed when a node ends.
        def decide(total, nodes, leaving = nil)
          return if total <= @bytes

          action = total > @bytes * HARD ? :stop : :replace
          return ([:stop, leaving] if action == :stop) if leaving

          node, memory = nodes.max_by { |_, one| gain(one) }
          node && worth?(memory, total - @bytes) ? [action, node] : [:too_small]
        end

        # At the last check; nil: it was within its budget.
        def excess = ({ bytes: @total, budget: @bytes } if @total > @bytes)

        def seconds_left(nodes)
          rate = nodes.sum { |node| node.node_memory.rate }
          rate.positive? ? (@bytes - @total) / rate : Float::INFINITY
        end

        private

        def molds(nodes)
          pids = nodes.map { |node| node.mold.pid }.uniq
          pids.sum { |pid| OS::Memory::Statm.of(pid)&.rss || 0 }
        end

        # Nodes that are being replaced or stopped already don't count: their memory will be free.
        def running(nodes)
          nodes = nodes.select { |node| node.ready? && node.slot.node == node }
          nodes.to_h { |node| [node, node.node_memory] }
        end

        # The successor will use as much as this node when it was young.
        def gain(memory) = memory.uss_min - memory.young_uss

        def worth?(memory, excess)
          gain = gain(memory)
          gain.positive? && (gain >= excess || gain * WORTH >= memory.uss_min)
        end

        # Once, until the swarm is within its budget again.
        def report_too_small(action)
          return @reported = false if @total <= @bytes
          return if action.nil? || @reported

          @reported = true
          @events.publish(:budget_too_small, level: :warn, bytes: @total, budget: @bytes)
        end
      end
    end
  end
end
