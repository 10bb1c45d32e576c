# frozen_string_literal: true

# Adds up the swarm's memory now and then, and says whose end would bring it back into its budget.
#
#   memory_budget = MemoryBudget.new(node_pool, cgroup_memory, 4 << 30, pause: 1.0, events:)
#   memory_budget.look(now) { |node, deed| … }     # :replace or :stop that one; true if it is done
#
# The sum is that of PSS, found without counting a page: what molds have in memory, and what nodes
# have of their own. (What a node shares it shares with its mold.)
module Skep
  class Swarm
    module Memory
      class MemoryBudget
        # pause: seconds between two sums at least.
        def initialize(node_pool, cgroup_memory, bytes, pause:, events:)
          @pause = pause
          @node_pool = node_pool
          @events = events
          @judge = MemoryBudgetPolicy.new(budget: cgroup_memory.within(:memory_budget, bytes))
          @next_at = 0.0
          @total = 0
        end

        # Seconds in which growth at that rate, bytes a second, would use up half of what is left.
        def reach(rate) #: (Float) -> Float
          return Float::INFINITY unless rate.positive?

          [(@judge.budget - @total) / rate / 2, @pause].max
        end

        def look(now, &renew) #: (Float) { (Nodes::NodeProcess, Symbol) -> bool } -> void
          return if now < @next_at

          @next_at = now + @pause
          @going = nil unless @going && @node_pool.memory_monitor.recycler.under_way?(@going)
          nodes = node_memories
          @total = total(nodes)
          deed, node = @judge.verdict(total: @total, nodes: shares(nodes), going: @going)
          deed ? act(deed, node, @total, &renew) : (@told = false if @total <= @judge.budget)
        end

        private

        def node_memories
          @node_pool.node_table.nodes.to_h { |node| [node, node.node_memory] }.compact
        end

        def total(nodes)
          molds = nodes.keys.map { |node| node.mold.pid }.uniq
          molds.sum { |pid| OS::Memory::Statm.of(pid)&.rss || 0 } + nodes.each_value.sum(&:least)
        end

        # One that is on its way out gives nothing back by being asked again.
        def shares(nodes)
          nodes.select { |node, _| node.ready? && node.slot.node == node }.transform_values do |one|
            MemoryBudgetPolicy::NodeShare.new(private: one.least, fresh: one.fresh)
          end
        end

        def act(deed, node, total)
          return futile(total) if deed == :futile
          return unless yield(node, deed)

          @going = node
          @events.publish(:swarm_over_budget, node,
                          level: :warn, bytes: total, budget: @judge.budget,
                          uss: node.node_memory.least, at_once: deed == :stop)
        end

        def futile(total)
          return if @told

          @told = true
          @events.publish(:budget_too_small, level: :warn, bytes: total, budget: @judge.budget)
        end
      end

      # Judges whether a swarm has too much memory, and whose end would give most of it back.
      # Pure: facts in, a verdict out.
      #
      #   policy = MemoryBudgetPolicy.new(budget: 4 << 30)
      #   policy.verdict(total: 5 << 30, nodes: { node => NodeShare.new(…) }, going: nil)
      #   # => nil: it has not, or one that was picked is still going
      #   # => [:replace, node], or [:stop, node] where nothing is to be waited for
      #   # => [:futile, nil]: a node's end would give back no more than its successor takes
      #
      # A node is picked by what is its own (USS), not by what it sees (RSS): of what it shares
      # nothing comes back.
      class MemoryBudgetPolicy
        # private: bytes of its own; fresh: what it had when it was young, as its successor will.
        NodeShare = Struct.new(:private, :fresh, keyword_init: true) do
          def gain = private - fresh #: () -> Integer
        end

        HARD = 1.25 # times the budget
        WORTH = 3.0 # a node must give back that part of what it has, or all that is too much
        private_constant :HARD, :WORTH

        attr_reader :budget #: Integer

        def initialize(budget:) #: (budget: Integer) -> void
          @budget = budget
        end

        # going: the node that was picked before, until it has gone.
        def verdict(total:, nodes:, going: nil)
          return if total <= budget
          return (total > hard ? [:stop, going] : nil) if going

          node, share = nodes.max_by { |_, one| one.gain }
          return [:futile, nil] unless share && worth?(share, total - budget)

          [total > hard ? :stop : :replace, node]
        end

        private

        def hard = budget * HARD

        def worth?(share, excess)
          share.gain.positive? && (share.gain >= excess || share.gain * WORTH >= share.private)
        end
      end
    end
  end
end
