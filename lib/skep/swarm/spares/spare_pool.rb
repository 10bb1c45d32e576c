# frozen_string_literal: true

# The spares: nodes that have booted and wait. Each takes the slot of a node that died.
#
#   spares = SparePool.new(config, node_registry)   # only where config.spares isn't 0
#   spares.spare_slots       # one for each spare
#   spares.step_in(slot)     # => true: a spare has been told to work there; false: none waits
#
# From step_in on the slot is the spare's: nothing else is forked for it. If the dead node's exit
# isn't recorded yet, the spare is its successor until then. A spare that doesn't answer has hung,
# or is dead, and is found and replaced as any other node.
module Skep
  class Swarm
    module Spares
      class SparePool
        attr_reader :spare_slots #: Array[SpareSlot]

        #: (Definition::Config, Nodes::NodeRegistry) -> void
        def initialize(config, node_registry)
          @node_registry = node_registry
          @spare_slots = Array.new(config.spares) { |number| SpareSlot.new(number) }
        end

        def step_in(slot) #: (Nodes::Slot) -> bool
          spare = @spare_slots.filter_map(&:spare).first or return false

          order(spare, slot)
          spare_slot = spare.slot
          spare.assign(slot, OS.now)
          slot.take(spare)
          refill(spare_slot, spare_slot.vacate(spare))
          true
        end

        private

        # The suspects go first: the spare must know what the dead node had in hand before it works.
        def order(spare, slot)
          @node_registry.crash_attribution.inform(spare)
          spare.channel.post("step_in", { "node" => slot.id, "task" => slot.task })
        end

        def refill(spare_slot, standing)
          standing == :held ? @node_registry.replacements.promoted(spare_slot)
                            : @node_registry.boots.enqueue(spare_slot)
        end
      end
    end
  end
end
