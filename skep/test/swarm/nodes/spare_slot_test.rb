# frozen_string_literal: true

require "test_helper"
require_relative "../rollout/rollout_parts"

class SpareSlotTest < Skep::TestCase
  def setup
    super
    @parts = RolloutParts.new(0, 0, spares: 1, max_restarts: 1).boot
    @slot = @parts.slots.first
    @spare_slot = @parts.node_pool.spare_slots.first
    @spare = @spare_slot.node
  end

  def teardown
    @parts.close
    super
  end

  test "a spare takes the slot of a node that has died, and its own slot is refilled" do
    @parts.ended(@slot.node, 3)
    assert_equal [[@spare], 0, []], [@slot.nodes, @spare.id, @spare_slot.nodes]
    assert_predicate @spare, :stepping_in?
    @parts.loop.turn(5) until @spare_slot.live?
    assert_equal :booting, @spare_slot.status
  end

  test "a spare gets the crash suspects before it works" do
    sent = []
    @spare.channel.define_singleton_method(:post) { |type, *, **| sent << type }
    suspects = @parts.node_pool.crash_attribution
    suspects.define_singleton_method(:to_plain) { [{}] }
    @parts.ended(@slot.node, 3)
    assert_equal %w[suspects step_in], sent
  end

  test "a process is forked if the spare is being stopped, or is taken already" do
    @spare.reason = "hung"
    @parts.ended(@slot.node, 3)
    assert_equal %i[booting], [@slot.status]
    refute_same @spare, @slot.node
  end

  test "a process is forked if the spare hangs, and is asked for its backtraces first" do
    @spare.failing!(:hung)
    @parts.ended(@slot.node, 3)
    refute_same @spare, @slot.node
  end

  test "no spare steps in for a new slot, nor in a crash loop" do
    @parts.node_pool.add(0, 1)
    assert_equal :booting, @parts.slots.last.status
    3.times { @parts.ended(@slot.node, 3) if @slot.live? }
    assert_equal [:waiting, 1], [@slot.status, @parts.names.count(:crash_loop)]
  end

  test "a spare of an old generation takes no slot that wants a new one" do
    @parts.node_pool.renew(@slot, 1, "restart")
    @parts.ended(@slot.node, 3)
    refute_includes @parts.slots.flat_map(&:nodes), @spare
  end

  test "the successor of a spare that steps in takes over the spare's slot" do
    @parts.node_pool.replace(@spare, "max_lifetime")
    successor = @spare_slot.successor
    @parts.ended(@slot.node, 3)
    assert_equal [[@spare], [successor]], [@slot.nodes, @spare_slot.nodes]
    @parts.ready(successor)
    assert_includes @parts.names, :node_replaced
  end

  test "the successor of a stopping spare steps in, which completes the replacement" do
    @parts.node_pool.replace(@spare, "max_lifetime")
    successor = @parts.ready(@spare_slot.successor)
    assert_equal :stopping, @spare.state
    @parts.ended(@slot.node, 3)
    assert_equal [[successor], [@spare]], [@slot.nodes, @spare_slot.nodes]
    assert_includes @parts.names, :node_replaced
  end
end
