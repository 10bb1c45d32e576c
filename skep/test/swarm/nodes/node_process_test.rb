# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class NodeProcessTest < Skep::TestCase
  Slot = Struct.new(:refusal, :spare?) do
    def generation = 0
  end

  # In place of a channel: records the messages.
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

  test "a node that gets quiet while it boots is quiet once it is ready" do
    @node.quiet
    assert_equal :booting, @node.state
    @node.ready(101.0)
    assert_equal :quiet, @node.state
    assert_equal ["quiet"], @sent
  end

  test "timers that have run aren't kept until its end, however many there are" do
    loop = Skep::OS::EventLoop.new
    100.times do
      @node.watches << loop.after(0) { nil }
      loop.turn
    end
    @node.watches << (waiting = loop.after(60) { flunk })
    assert_equal [waiting], @node.watches
  ensure
    loop.close
  end

  test "a node whose quiet ends is ready, also if it was still booting" do
    %i[quiet end_quiet].each { |step| @node.public_send(step) }
    @node.forked(1, nil)
    @node.ready(1.0)
    assert_equal :ready, @node.state
    @node.quiet
    @node.end_quiet
    assert_equal :ready, @node.state
    assert_equal %w[quiet resume quiet resume], @sent
  end

  test "a ready node that gets quiet is quiet at once" do
    @node.ready(101.0)
    assert_equal :ready, @node.state
    @node.quiet
    assert_equal :quiet, @node.state
  end

  test "a spare that is assigned a slot stays a spare until it answers, then boots" do
    spare_slot = Slot.new(nil, true)
    spare = Skep::Swarm::Nodes::NodeProcess.new(0, spare_slot, nil, 100.0)
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
