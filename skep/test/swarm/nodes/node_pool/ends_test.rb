# frozen_string_literal: true

require "test_helper"
require_relative "../../rollout/rollout_parts"

# Ends of nodes that come together with something else. No process is forked.
class NodePoolEndsTest < Skep::TestCase
  def teardown
    @parts.close
    super
  end

  test "a swarm whose last node isn't needed any more, and can't be forked, has done its work" do
    boot(0, 0, restart: "on_failure")
    @parts.ended(slot.node)
    @parts.ended(@parts.slots.last.node, 3)
    unforked = @parts.slots.last.node
    @pool.remove(@parts.slots.last, "scale")
    @pool.fork_failed(unforked.page_index, "EAGAIN")
    assert_equal [:done], @stops
  end

  test "work that ended well has done so, whatever becomes of a successor that booted meanwhile" do
    boot(0, restart: "on_failure")
    @pool.replace(node = slot.node, "max_lifetime")
    successor = @parts.forked(@parts.booting.first)
    @parts.ended(node)
    assert_equal :stopping, successor.state
    @parts.ended(successor, signal: "KILL")
    assert_equal [[:done], 0], [@stops, slot.last_exit.exitstatus]
  end

  test "a node that is killed before it is forked keeps the reason" do
    boot(0, 0)
    @parts.ended(slot.node, 3)
    unforked = slot.node
    @pool.remove(slot, "scale")
    unforked.overdue!
    @pool.reconcile(unforked.slot)
    assert_equal ["stop_timeout", true], [@parts.forked(unforked).reason, unforked.killed?]
  end

  test "a restart whose new node dies before the old one has gone says so" do
    boot(0, 0)
    said = nil
    restart = Skep::Swarm::Rollout::RollingUpdate.new("restart", **@parts.to_h) { |why| said = why }
    restart.start
    @parts.ended(@parts.ready(@parts.booting.first), signal: "KILL")
    assert_equal "node 0 could not be replaced: the new process ended, SIGKILL", said
  end

  private

  def boot(*loads, **options)
    @parts = RolloutParts.new(*loads, **options)
    @pool = @parts.node_pool
    @stops = stops = []
    supervisor = @pool.instance_variable_get(:@supervisor)
    supervisor.define_singleton_method(:stop) { |reason:| stops << reason }
    @parts.boot
  end

  def slot = @parts.slots.first
end
