# frozen_string_literal: true

# The slot of a spare: a node that has booted and waits for another's slot (its own view is
# InNode::StandbyWait).
#
#   spare_slot = SpareSlot.new(0) { slots }   # the block: which slots it is to watch
#   spare_slot.vacate(node)                   # its spare has stepped in elsewhere
#
# It is booted, renewed and stopped as others are, and counts as none.
module Skep
  class Swarm
    module Spares
      class SpareSlot < Nodes::Slot
        attr_reader :number #: Integer

        def initialize(number, &slots) #: (Integer) { () -> Array[Nodes::Slot] } -> void
          super(nil, nil)
          @number = number
          @slots = slots
        end

        def label = "spare #{number}" #: () -> String
        def spare? = true #: () -> bool
        def birth = { "node" => nil, "spare" => true, "slots" => watched } #: () -> Hash

        # The spare that waits in it, if it does.
        def spare = nodes.find { |node| node.state == :spare } #: () -> Nodes::NodeProcess?

        # What its spare watches: [id, kind of work]; several spares begin at several places, as one
        # can't watch any number.
        def watched #: () -> Array[[Integer, Integer]]
          most = OS::RobustLocks::MOST
          @slots.call.map { |slot| [slot.id, slot.task] }.rotate(number * most).first(most)
        end

        def tell_slots = nodes.each { |node| node.channel.post("slots", { "slots" => watched }) }

        #: (Nodes::NodeProcess) -> (:held | :free)
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
