# frozen_string_literal: true

# The slot of a spare: a node that has booted and waits for the slot of a node that dies (what runs
# in its process is Processes::StandbyWait). It is booted, renewed and stopped as other slots are,
# but has no work.
#
#   spare_slot = SpareSlot.new(0)
#   spare_slot.spare          # its process, if that waits
#   spare_slot.vacate(node)   # that process works in another slot from here on
module Skep
  class Swarm
    module Nodes
      class SpareSlot < Slot
        def initialize(number, options: nil)
          super(nil, nil, options:)
          @number = number
        end

        def label = "spare #{@number}"
        def spare? = true
        def birth = { "node" => nil, "spare" => true }

        # The process that waits, unless it is being ended.
        def spare
          nodes.find do |node|
            node.state == :spare && node.reason.nil? && !node.failing? && !node.lost?
          end
        end

        # Returns what Slot#leave does.
        def vacate(process)
          return free unless process == successor

          @successor = nil
          :kept
        end

        def to_plain(**) = super.merge(id: label)
      end
    end
  end
end
