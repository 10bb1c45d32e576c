# frozen_string_literal: true

# The slot of a spare: a node that has booted and waits for the slot of a node that dies (what runs
# in its process is InNode::StandbyWait).
#
#   spare_slot = SpareSlot.new(0)
#   spare_slot.spare          # its process, if that waits
#   spare_slot.vacate(node)   # that process works in another slot from here on
#
# It is booted, renewed and stopped as other slots are, but has no work.
module Skep
  class Swarm
    module Spares
      class SpareSlot < Nodes::Slot
        def initialize(number) #: (Integer) -> void
          super(nil, nil)
          @number = number
        end

        def label = "spare #{@number}" #: () -> String
        def spare? = true #: () -> bool
        def birth = { "node" => nil, "spare" => true } #: () -> Hash

        # The process that waits, unless it is being ended.
        def spare #: () -> Nodes::NodeProcess?
          nodes.find { |node| node.state == :spare && node.reason.nil? }
        end

        #: (NodeProcess) -> (:held | :free)
        def vacate(node)
          return (@successor = nil) || :held if node == @successor

          @node, @successor = @successor, nil
          @state = :dead
          @node ? :held : :free
        end

        def to_plain(**) = super.merge(id: label) #: (**untyped) -> Hash[Symbol, untyped]
      end
    end
  end
end
