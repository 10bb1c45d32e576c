# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class NodeProcessTest < Skep::TestCase
  Slot = Struct.new(:refusal, :spare?)

  # In place of a channel: what was sent.
  class Sent < Array
    alias post push
  end
  private_constant :Slot, :Sent

  def setup
    super
    @sent = Sent.new
    @node = Skep::Swarm::Nodes::NodeProcess.new(0, Slot.new, nil, 100.0)
    @node.listens_to(@sent)
  end

  test "who is told to be quiet while it boots is quiet when it is ready" do
    @node.quiet
    assert_equal :booting, @node.state
    @node.ready(101.0)
    assert_equal :quiet, @node.state
    assert_equal ["quiet"], @sent
  end

  test "who is told to be quiet when it is ready is so at once" do
    @node.ready(101.0)
    assert_equal :ready, @node.state
    @node.quiet
    assert_equal :quiet, @node.state
  end

  test "a spare with a slot is a spare until it answers, then boots in that slot" do
    waiting = Slot.new(nil, true)
    spare = Skep::Swarm::Nodes::NodeProcess.new(0, waiting, nil, 100.0)
    spare.wait_as_spare(101.0)
    refute_predicate spare, :stepping_in?
    spare.assign(Slot.new(nil, false), 105.0)
    assert_predicate spare, :stepping_in?
    assert_predicate spare, :ready?
    assert_equal "boot", spare.kind_of_death
    assert_in_delta 0.5, spare.stepped_in(105.5)
    assert_equal :booting, spare.state
    refute_predicate spare, :stepping_in?
    spare.ready(106.0)
    assert_in_delta 1.0, spare.boot_seconds
  end
end
