# frozen_string_literal: true

# The spares: nodes that have booted and wait. Each takes the slot of a node that died.
#
#   spares = SparePool.new(config, boots:, replacements:, crash_attribution:)
#   spares.slots             # one for each spare
#   spares.step_in(slot)     # => true: a spare has been ordered to work there; false: none waits
#
# From step_in on the slot is the spare's: nothing else is forked for it. If the dead node's exit
# isn't recorded yet, the spare is its successor until then. A spare that doesn't answer has hung,
# or is dead, and is found and replaced as any other node.
module Skep
  class Swarm
    module Nodes
      class SparePool
        # Seconds before the next spare is forked: its boot would take the processor from the one
        # that has been given a slot, and from the mold that is to report the exit.
        REFILL_DELAY = 0.05
        private_constant :REFILL_DELAY

        attr_reader :slots

        def initialize(config, boots:, replacements:, crash_attribution:)
          @boots = boots
          @replacements = replacements
          @crash_attribution = crash_attribution
          @slots = Array.new(config.spares) { |number| SpareSlot.new(number) }
        end

        def step_in(slot)
          spare = @slots.filter_map(&:spare).first or return false

          order(spare, slot)
          spare_slot = spare.slot
          spare.assign(slot, OS.now)
          slot.launch(spare)
          refill(spare_slot, spare_slot.vacate(spare))
          true
        end

        private

        # The suspects go first: the spare must know them before it works.
        def order(spare, slot)
          @crash_attribution.inform(spare)
          spare.channel.post("step_in", { "node" => slot.id, "task" => slot.task })
        end

        def refill(spare_slot, left)
          return @replacements.promoted(spare_slot) if left == :promoted
          return @replacements.complete(spare_slot) if left == :kept # its old spare is stopping

          @replacements.failed(spare_slot) if spare_slot.replacement
          @boots.later(spare_slot, REFILL_DELAY)
        end
      end

      # The slot of a spare: a node that has booted and waits for the slot of a node that dies (what
      # runs in its process is Processes::StandbyWait). It is booted, renewed and stopped as other
      # slots are, but has no work.
      #
      #   spare_slot = SpareSlot.new(0)
      #   spare_slot.spare          # its process, if that waits
      #   spare_slot.vacate(node)   # that process works in another slot from here on
      class SpareSlot < Slot
        def initialize(number)
          super(nil, nil)
          @number = number
        end

        def label = "spare #{@number}"
        def spare? = true
        def birth = { "node" => nil, "spare" => true }

        # The process that waits, unless it is being ended.
        def spare
          nodes.find { |node| node.state == :spare && node.reason.nil? }
        end

        # Returns what Slot#leave does.
        def vacate(node)
          return lose_successor if node == @successor

          @node = nil
          @successor ? promote : free
        end

        def to_plain(**) = super.merge(id: label)
      end
    end
  end
end
