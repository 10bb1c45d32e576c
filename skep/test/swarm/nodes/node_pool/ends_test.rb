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

  test "a hung node that is far over its memory_limit, too, is a hung one" do
    boot(0, restart: "never", memory_limit: "100M")
    hung = slot.node
    hung.failing!(:hung)
    hung.terminate("hung")
    exceed(hung)
    @parts.ended(hung, signal: "KILL")
    assert_equal ["hung", :dead, 1],
                 [slot.last_reason, slot.status, slot.deaths.counts["work"]]
  end

  test "a slot whose nodes were far over memory_limit too often is empty for a while" do
    boot(0, memory_limit: "100M", max_restarts: 2)
    3.times do
      exceed(old = slot.node)
      break unless slot.successor

      @parts.ready(slot.successor)
      @parts.ended(old)
    end
    assert_equal [:stopping, nil], [slot.status, slot.successor]
    @parts.ended(slot.node)
    assert_equal [:waiting, 2], [slot.status, @parts.names.count(:node_replaced)]
    @parts.loop.turn(5) until slot.live?
  end

  test "a restart starts a slot at once that waits because of its memory" do
    boot(0, memory_limit: "100M", max_restarts: 1)
    2.times do
      exceed(old = slot.node)
      @parts.ready(slot.successor) if slot.successor
      @parts.ended(old)
    end
    @pool.renew(slot, 1, "restart")
    assert_equal :booting, slot.status
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

  # The monitor's next look finds twice the limit.
  def exceed(node)
    node.node_memory = Skep::Swarm::Memory::NodeMemory.new(Skep::OS.now)
    bytes = %w[rss pss uss anonymous].to_h { |kind| [kind, 200 << 20] }
    node.node_memory.measured(Skep::OS.now, { **bytes, "swap" => 0 })
    @pool.memory_monitor.send(:check_limits, [node], Skep::OS.now)
  end
end
