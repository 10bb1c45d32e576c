# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class NodeProcessTest < Skep::TestCase
  Slot = Struct.new(:refusal)

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
end
