# frozen_string_literal: true

require "test_helper"
require_relative "rollout_parts"

class ReforkTest < Skep::TestCase
  def setup
    super
    @parts = RolloutParts.new(1, 0).boot
    @ended = []
    @node = @parts.slots[0].node
    @sockets = []
    sockets = @sockets
    @node.define_singleton_method(:retire_to_mold) do |number, socket|
      sockets << socket.dup # which is given away
      super(number, socket)
    end
    @refork = Skep::Swarm::Rollout::Refork.new(@node, **@parts.to_h) { |why| @ended << why }
    @refork.start
  end

  def teardown
    [*@sockets, *@parts.mold_pool.taken].each(&:close)
    @parts.close
    super
  end

  test "judges the canary before it replaces the other nodes" do
    become_mold
    @parts.node_pool.became_mold(@node)
    assert_equal [[:take, 1, @node.pid]], asked
    @refork.mold_ready(mold = @refork.mold)
    @parts.replace_one
    assert_equal :judging, @refork.state
    @parts.loop.turn until @refork.state == :rolling
    assert_equal [[:adopt, 1], [:retire, 0, true]], asked.drop(1)
    @parts.replace_one while @parts.booting.any?
    assert_equal [[nil], mold], [@ended, @parts.node_pool.mold]
  end

  test "rolls back if the canary reports unhealthy" do
    become_mold
    @parts.node_pool.became_mold(@node)
    @refork.mold_ready(@refork.mold)
    @parts.replace_one
    @parts.slots[1].node.unhealthy_reports.add("no database", 1.0)
    @parts.loop.turn until @ended.any?
    assert_equal ["its first node isn't well: no database"], @ended
    assert_equal [:rolled_back, [:retire, 1, true]], [@refork.state, asked.last]
  end

  test "the canary's slot gets a node of the old mold at once if canary and mold die" do
    become_mold
    @parts.node_pool.became_mold(@node)
    @refork.mold_ready(mold = @refork.mold)
    @parts.ended(@parts.replace_one, signal: "KILL")
    mold.alive = false
    @parts.node_pool.mold_exited(mold)
    @refork.mold_exited(mold, Skep::Swarm::IPC::ExitStatus.new(nil, "KILL"), nil)
    assert_equal :rolled_back, @refork.state
    assert_equal [@parts.old], @parts.booting.map(&:mold).uniq
    assert_empty @parts.slots.reject(&:live?)
  end

  test "rolls back, and the node stays, if it gets no successor" do
    @parts.ended(@parts.booting.first, 1)
    assert_equal [["node 0 has no successor"], :ready], [@ended, @node.state]
  end

  test "a node that got no successor in a refork isn't made a mold by a later restart" do
    @parts.ended(@parts.booting.first, 1)
    Skep::Swarm::Rollout::RollingUpdate.new("restart", **@parts.to_h) { nil }.start
    @parts.replace_one while @parts.booting.any?
    assert_empty @sockets
  end

  test "closes the mold's channel if the node is unfit" do
    become_mold
    @refork.unfit("a thread")
    @parts.ended(@node)
    assert_nil @sockets.first.read(1)
    assert_equal ["node 0 can't be a mold: a thread"], @ended
  end

  test "closes the mold's channel at once if the node dies before it is a mold" do
    become_mold
    @parts.ended(@node, signal: "SEGV")
    assert_nil @sockets.first.read(1)
    assert_equal ["node 0 ended before it was a mold"], @ended
  end

  test "retires a node that becomes a mold after the refork has failed" do
    become_mold
    @parts.ended(@parts.slots[0].successor, 1)
    @parts.lifecycle.stop
    @parts.node_pool.stop
    @parts.node_pool.became_mold(@node)
    assert_equal [[:take, 1, @node.pid], [:retire, 1, false]], asked
  end

  private

  def asked = @parts.mold_pool.asked

  # Its successor is ready, and it is ordered to become a mold.
  def become_mold
    @parts.ready(@parts.booting.first)
    assert_predicate @node, :becoming_mold?
  end
end
