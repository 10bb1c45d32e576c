# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class BootQueueTest < Skep::TestCase
  test "doesn't launch a node for a retired slot, neither at once nor later" do
    slot = Skep::Swarm::Nodes::Slot.new(0, 0)
    slot.retire
    boots = Skep::Swarm::Nodes::BootQueue.new(
      nil, loop: nil, events: nil, page: nil, layout: nil, node_table: nil, suspects: nil,
           connect: nil
    )
    boots.enqueue(slot)
    boots.later(slot, 0.1)
    refute_predicate boots, :any?
    refute_predicate slot, :waiting?
  end
end
