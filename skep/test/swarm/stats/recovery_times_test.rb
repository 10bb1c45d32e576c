# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class RecoveryTimesTest < Skep::TestCase
  Slot = Struct.new(:label, :node, :spare?, :helper?, keyword_init: true)
  Node = Struct.new(:slot, :kind_of_death, :retired?, keyword_init: true) do
    def label = slot.label
  end

  test "measures from a slot's first exit until a node is ready, failed boots included" do
    recovery_times.lost(holder(0), 10.0)
    recovery_times.lost(holder(0, kind_of_death: "boot"), 10.5)
    recovery_times.lost(holder(0), 11.0)
    recovery_times.ready(holder(0), 12.0)
    recovery_times.ready(holder(0), 13.0)
    assert_in_delta 2.0, recovery_times.to_plain["sum"]
    assert_equal 1, recovery_times.to_plain["count"]
  end

  test "measures nothing for a slot that has lost no working node" do
    slot = Slot.new(label: 0, node: :another)
    [holder(0, kind_of_death: "boot"), holder(0, retired: true),
     Node.new(slot:, kind_of_death: "work"),
     holder("helper", helper?: true), holder("spare 0", spare?: true)].each do |node|
      recovery_times.lost(node, 10.0)
      recovery_times.ready(node, 11.0)
    end
    assert_equal 0, recovery_times.to_plain["count"]
  end

  test "forgets a slot that is removed" do
    recovery_times.lost(holder(3), 10.0)
    recovery_times.forget(holder(3).slot)
    recovery_times.ready(holder(3), 99.0)
    assert_equal 0, recovery_times.to_plain["count"]
  end

  private

  def recovery_times = @recovery_times ||= Skep::Swarm::Stats::RecoveryTimes.new

  def holder(label, kind_of_death: "work", retired: false, **kind)
    slot = Slot.new(label:, **kind)
    slot.node = Node.new(slot:, kind_of_death:, "retired?": retired)
  end
end
