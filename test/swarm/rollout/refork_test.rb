# frozen_string_literal: true

require "test_helper"
require_relative "rollout_parts"

class ReforkTest < Skep::TestCase
  def setup
    super
    @parts = RolloutParts.new(1, 0)
    @ended = []
    @node = @parts.slots[0].node
    @node.pid = 4711
    @refork = Skep::Swarm::Rollout::Refork.new(@node, **@parts.to_h) { |why| @ended << why }
    @refork.start
  end

  def teardown
    [@node.socket, *@parts.mold_pool.taken, @parts.loop].each(&:close)
    super
  end

  test "judges the canary before it replaces the other nodes" do
    promote
    settle(true)
    assert_equal [[:take, 1, 4711]], asked
    events.publish(:mold_ready, mold = @refork.mold)
    settle(true)
    assert_equal :judging, @refork.state
    @parts.loop.turn until @refork.state == :rolling
    assert_equal [[:adopt, 1], [:retire, 0, true]], asked.drop(1)
    settle(true) while @parts.node_pool.asked.any?
    assert_equal [[nil], mold], [@ended, @parts.node_pool.mold]
  end

  test "rolls back if the canary reports unhealthy" do
    promote
    settle(true)
    events.publish(:mold_ready, @refork.mold)
    settle(true)
    @parts.slots[1].node.unhealthy_reports.add("no database", 1.0)
    @parts.loop.turn until @ended.any?
    assert_equal ["its first node isn't well: no database"], @ended
    assert_equal [:rolled_back, [:retire, 1, true]], [@refork.state, asked.last]
  end

  test "closes the mold's channel at once if the node is unfit" do
    become_mold
    events.announce(:node_unfit, @node, sentence: "a thread")
    assert_nil @node.socket.read(1)
    assert_equal ["node 0 can't be a mold: a thread"], @ended
  end

  test "closes the mold's channel at once if the node dies before it is a mold" do
    become_mold
    events.publish(:node_died, @node)
    settle(true)
    assert_nil @node.socket.read(1)
    assert_equal ["node 0 ended before it was a mold"], @ended
  end

  test "retires a node that becomes a mold after the refork has failed" do
    become_mold
    settle(false)
    assert_equal ["node 0 has no successor"], @ended
    events.announce(:node_promoted, @node, pidfd: nil)
    assert_equal [[:take, 1, 4711], [:retire, 1, false]], asked
  end

  private

  def events = @parts.events
  def asked = @parts.mold_pool.asked
  def settle(succeeded) = @parts.node_pool.settle(succeeded)
  def become_mold = @parts.node_pool.asked.first.on_retire.call(@node)

  def promote
    become_mold
    events.announce(:node_promoted, @node, pidfd: nil)
  end
end
