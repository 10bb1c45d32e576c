# frozen_string_literal: true

# Compares the memory of the whole swarm with `memory_budget`, and picks the node to replace if it
# is exceeded.
#
#   memory_budget = MemoryBudget.new(node_pool, cgroup_memory, 4 << 30, pause: 1.0, events:)
#   memory_budget.check(now) { |node, action| … }   # action: :replace or :stop; the block returns
#                                                   # true if it took that action
#
# The total approximates the PSS of all processes without counting their pages: the resident memory
# of the molds plus the private memory of the nodes. What a node shares, it shares with its mold.
module Skep
  class Swarm
    module Memory
      class MemoryBudget
        # pause: minimum seconds between two checks.
        def initialize(node_pool, cgroup_memory, bytes, pause:, events:)
          @pause = pause
          @node_pool = node_pool
          @events = events
          @policy = MemoryBudgetPolicy.new(budget: cgroup_memory.within(:memory_budget, bytes))
          @check_at = 0.0
          @total = 0
        end

        # Returns the seconds in which growth at this rate, in bytes a second, uses half of what is
        # left of the budget.
        def seconds_left(rate)
          return Float::INFINITY unless rate.positive?

          [(@policy.budget - @total) / rate / 2, @pause].max
        end

        def check(now, &recycle)
          return if now < @check_at

          @check_at = now + @pause
          @leaving = nil unless @leaving && recycling?(@leaving)
          nodes = node_memories
          @total = total(nodes)
          action, node = @policy.decide(total: @total, nodes: shares(nodes), leaving: @leaving)
          action ? act(action, node, @total, &recycle) : reset_report
        end

        private

        def recycling?(node) = @node_pool.memory_monitor.recycler.recycling?(node)

        def reset_report
          @reported = false if @total <= @policy.budget
        end

        def node_memories
          @node_pool.node_table.nodes.to_h { |node| [node, node.node_memory] }.compact
        end

        def total(nodes)
          molds = nodes.keys.map { |node| node.mold.pid }.uniq
          molds.sum { |pid| OS::Memory::Statm.of(pid)&.rss || 0 } + nodes.each_value.sum(&:uss_min)
        end

        # Nodes that are being replaced or stopped already don't count: their memory will be free.
        def shares(nodes)
          nodes = nodes.select { |node, _| node.ready? && node.slot.node == node }
          nodes.transform_values do |memory|
            MemoryBudgetPolicy::NodeShare.new(uss: memory.uss_min, baseline: memory.baseline_uss)
          end
        end

        def act(action, node, total)
          return report_too_small(total) if action == :too_small
          return unless yield(node, action)

          @leaving = node
          @events.publish(:swarm_over_budget, node,
                          level: :warn, bytes: total, budget: @policy.budget,
                          uss: node.node_memory.uss_min, at_once: action == :stop)
        end

        def report_too_small(total)
          return if @reported

          @reported = true
          @events.publish(:budget_too_small, level: :warn, bytes: total, budget: @policy.budget)
        end
      end

      # Decides whether the swarm exceeds its budget, and which node to replace. Pure: takes facts,
      # returns a decision.
      #
      #   policy = MemoryBudgetPolicy.new(budget: 4 << 30)
      #   policy.decide(total: 5 << 30, nodes: { node => NodeShare.new(…) }, leaving: nil)
      #   # => nil: within the budget, or the last node picked hasn't ended yet
      #   # => [:replace, node], or [:stop, node] if the excess is too large to wait for a successor
      #   # => [:too_small, nil]: no replacement would free more than its successor uses
      #
      # It picks the node whose private memory (USS) has grown most since it was young: a large but
      # steady one would free nothing, and shared memory isn't freed when a node ends.
      class MemoryBudgetPolicy
        # uss: private bytes now. baseline: when the node was young, as its successor will be.
        NodeShare = Struct.new(:uss, :baseline, keyword_init: true) do
          def gain = uss - baseline
        end

        HARD = 1.25 # times the budget: the node is stopped before its successor is ready
        WORTH = 3.0 # a replacement must free a third of the node's memory, or the whole excess
        private_constant :HARD, :WORTH

        attr_reader :budget

        def initialize(budget:)
          @budget = budget
        end

        # leaving: the node picked last, until it has ended.
        def decide(total:, nodes:, leaving: nil)
          return if total <= budget
          return (total > hard ? [:stop, leaving] : nil) if leaving

          node, share = nodes.max_by { |_, one| one.gain }
          return [:too_small, nil] unless share && worth?(share, total - budget)

          [total > hard ? :stop : :replace, node]
        end

        private

        def hard = budget * HARD

        def worth?(share, excess)
          share.gain.positive? && (share.gain >= excess || share.gain * WORTH >= share.uss)
        end
      end
    end
  end
end
