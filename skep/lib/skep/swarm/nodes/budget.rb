# frozen_string_literal: true

# How many processes a swarm may launch and replace at a time: what SlotPolicy is told beside the
# facts about a slot.
#
#   budget = Budget.new(config, node_table:, slots: -> { … }, spare: ->(slot) { … })
#   budget.open                # the swarm has started; close: it stops
#   budget.mold = mold         # forks the nodes; nil: none can be forked
#   budget.launch?(slot, now)  # may its process be launched: is there a spare for it, or a boot?
#   budget.boot?(slot, now)    # may a process be forked for it?
#   budget.surge?(slot)        # may it have two processes at a time?
#   budget.replacing(slot)     # it has two now; replaced(slot): it has one again
#   budget.backoff             # after forks that the system has refused
#
# | what | limit |
# |---|---|
# | nodes that boot | boot_concurrency |
# | forks, after one that was refused | 1, once its backoff is over, until one succeeds |
# | slots that a restart, a reload or a refork replaces | 1 |
# | slots whose process has a reason of its own (memory, lifetime) | 1 in 20, at least 1 |
module Skep
  class Swarm
    module Nodes
      class Budget
        SHARE = 20
        # The reasons of a rollout. It gives them to a process (NodeProcess#replace_for) where the
        # slot's generation doesn't tell: to a refork's first node, and to nodes in a roll back.
        ROLLOUTS = %w[restart reload refork].freeze
        private_constant :SHARE, :ROLLOUTS

        attr_accessor :mold
        attr_reader :backoff

        # spare: returns the process that waits to take this slot, or nil.
        def initialize(config, node_table:, slots:, spare:)
          @config = config
          @node_table = node_table
          @slots = slots
          @spare = spare
          @backoff = ForkBackoff.new
          @booting = []
          @replacing = {}.compare_by_identity
        end

        def open = @open = true
        def open? = @open ? true : false
        def close = @open = false

        # The mold that a slot's next process is forked from.
        def mold_for(slot) = slot.trial_mold || mold

        def launch?(slot, now) = @open && (!@spare.call(slot).nil? || boot?(slot, now))
        def boot?(slot, now) = @open && mold_for(slot)&.ready? && room?(now) ? true : false

        def room?(now)
          @booting.select! { |node| node.state == :booting && @node_table.include?(node) }
          return false if @booting.size >= @config.boot_concurrency || !@backoff.over?(now)

          !@backoff.refused? || @booting.all?(&:pid)
        end

        # Not as long as its last replacement has no end: the node that was to be replaced has died,
        # and its successor is still booting. If its successor's fork was refused, it has its turn
        # already.
        def surge?(slot)
          return slot.successor_due? if @replacing.key?(slot)

          turn?(kind(slot))
        end

        # May another slot be replaced for such a reason?
        def turn?(kind) = @replacing.each_value.count(kind) < limit(kind)

        # Of the reason for which a slot's process is replaced.
        def kind(slot)
          own = slot.node.replace_for
          own && !ROLLOUTS.include?(own) ? :own_reason : :rollout
        end

        def booting(node)
          @booting << node unless node.helper?
        end

        def replacing(slot) = @replacing[slot] = kind(slot)
        def replaced(slot) = @replacing.delete(slot)

        private

        def limit(kind) = kind == :rollout ? 1 : [@slots.call.size / SHARE, 1].max
      end
    end
  end
end
