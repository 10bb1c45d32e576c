# frozen_string_literal: true

# Adds up the swarm's memory now and then, and says whose end would bring it back into its budget.
#
#   budgeting = Budgeting.new(manager, surroundings, 4 << 30, pause: 1.0, tell:)
#   budgeting.look(now) { |node, deed| … }     # :replace or :stop that one; true if it is done
#
# The sum is that of PSS, found without counting a page: what molds have in memory, and what nodes
# have of their own. (What a node shares it shares with its mold.)
module Skep
  class Swarm
    class Budgeting
      # bytes: nil for no budget; pause: seconds between two sums at least.
      def initialize(manager, surroundings, bytes, pause:, tell:)
        @pause = pause
        @manager = manager
        @tell = tell
        @emit = surroundings.method(:emit)
        bytes = surroundings.within(:memory_budget, bytes)
        @judge = bytes && MemoryBudget.new(budget: bytes)
        @next_at = 0.0
        @total = 0
      end

      # Seconds in which growth at that rate, bytes a second, would use up half of what is left.
      def reach(rate) #: (Float) -> Float
        return Float::INFINITY unless @judge && rate.positive?

        [(@judge.budget - @total) / rate / 2, @pause].max
      end

      def look(now, &renew) #: (Float) { (Node, Symbol) -> bool } -> void
        return if @judge.nil? || now < @next_at

        @next_at = now + @pause
        @going = nil unless @going && @manager.upkeep.renewals.under_way?(@going)
        nodes = footprints
        @total = total(nodes)
        deed, node = @judge.verdict(total: @total, nodes: shares(nodes), going: @going)
        deed ? act(deed, node, @total, &renew) : (@told = false if @total <= @judge.budget)
      end

      private

      def footprints
        @manager.roster.nodes.filter_map { |node| [node, node.footprint] if node.footprint }.to_h
      end

      def total(nodes)
        molds = nodes.keys.map { |node| node.mold.pid }.uniq
        molds.sum { |pid| OS::Resident.of(pid)&.rss || 0 } + nodes.each_value.sum(&:least)
      end

      # One that is on its way out gives nothing back by being asked again.
      def shares(nodes)
        nodes.select { |node, _| node.ready? && node.seat.node == node }.transform_values do |one|
          MemoryBudget::Share.new(private: one.least, fresh: one.fresh)
        end
      end

      def act(deed, node, total)
        return futile(total) if deed == :futile
        return unless yield(node, deed)

        @going = node
        @tell.call(:swarm_over_budget, node, level: :warn, bytes: total, budget: @judge.budget,
                                             uss: node.footprint.least, at_once: deed == :stop)
      end

      def futile(total)
        return if @told

        @told = true
        @emit.call(:budget_too_small, :warn, { bytes: total, budget: @judge.budget })
      end
    end
  end
end
