# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SlotTest < Skep::TestCase
  test "tells no name twice, whatever its work tells: newer JSON libraries refuse that" do
    plain = Struct.new(:state, :pid, :mold, :joined?, :work)
    node = plain.new(:ready, 7, nil, true, { "done" => 3 })
    slot = Skep::Swarm::Nodes::Slot.new(0, 0)
    slot.take(node)
    work = slot.to_plain(memory: nil, beat_age: 0.1, done: 5, unhealthy: nil)[:work]
    assert_equal [["done", 3]], work.map { |name, value| [name.to_s, value] }
  end
end
