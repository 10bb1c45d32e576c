# frozen_string_literal: true

require "test_helper"
require_relative "rollout_parts"

class RollingUpdateTest < Skep::TestCase
  def setup
    super
    @parts = RolloutParts.new(2, 0, 1, max_restarts: 0).boot
    @ended = []
  end

  def teardown
    @parts.close
    super
  end

  test "replaces the least busy slot first, one at a time" do
    update.start
    order = Array.new(3) do
      assert_equal 1, booting.size
      @parts.replace_one.id
    end
    assert_equal [1, 2, 0], order
    assert_equal [[nil], :done], [@ended, @update.state]
  end

  test "looks a few times for each node that it replaces, however many there are" do
    @parts = fresh(*Array.new(50, 0))
    looks = 0
    update.define_singleton_method(:look) do
      looks += 1
      super()
    end
    @update.start
    @parts.replace_one while @ended.empty?
    assert_operator looks, :<, 6 * 50
  end

  test "replaces only the slots it was given" do
    update(slots: [slots[2]]).start
    @parts.replace_one
    assert_equal [[nil], []], [@ended, booting]
  end

  test "fails at the first slot that can't be replaced, and the others keep their processes" do
    update.start
    @parts.replace_one
    booting.first.slot.failure = "no database"
    @parts.ended(booting.first, 1)
    assert_empty booting
    assert_equal :failed, @update.state
    assert_equal ["node 2 could not be replaced, and keeps its process: no database"], @ended
    assert_equal "correct the cause and run `skep restart` again", @hint
    assert_equal %i[ready ready ready], slots.map(&:status)
  end

  test "a slot that is being replaced for another reason is replaced once more" do
    @parts.node_pool.replace(slots[1].node, "memory_limit")
    update.start
    5.times { @parts.replace_one if booting.any? }
    assert_equal [nil], @ended
    assert_equal 4, @parts.names.count(:node_replaced)
  end

  test "skips slots that are removed during the update" do
    update.start
    @parts.node_pool.remove(slots[2], "scale")
    @parts.replace_one
    @parts.node_pool.remove(slots[0], "scale")
    assert_equal [nil], @ended
  end

  test "considers a slot renewed if its node has died, and is restarted" do
    @parts = fresh(0, 0)
    update.start
    @parts.ended(slots[1].node, 3)
    @parts.replace_one
    assert_equal [nil], @ended
  end

  test "starts what waits after an exit" do
    crash(0)
    crash(2)
    assert_equal %i[waiting ready waiting], slots.map(&:status)
    update.start
    assert_equal %i[booting ready booting], slots.map(&:status)
    @parts.ready(slots[1].successor)
    @parts.ended(slots[1].node)
    assert_equal [nil], @ended
  end

  test "waits until the one slot that it was given has a node again" do
    wait_alone
    assert_equal [[slots[2].node], []], [booting, @ended]
    @parts.ready(slots[2].node)
    assert_equal [[nil], :done], [@ended, @update.state]
  end

  test "fails if the one slot that it was given can't start" do
    wait_alone
    slots[2].node.kill("boot_timeout")
    @parts.ended(slots[2].node, signal: "KILL")
    assert_equal [["node 2 could not start: the new process ended, SIGKILL (boot_timeout)"],
                  :failed], [@ended, @update.state]
  end

  test "goes on once the system no longer refuses a node" do
    update.start
    refused = booting.first
    @parts.node_pool.fork_failed(refused.page_index, "no descriptor")
    assert_equal [[], [], "no descriptor"], [booting, @ended, refused.slot.failure]
    @parts.loop.turn(5) until booting.any?
    slots.size.times { @parts.replace_one }
    assert_equal [[nil], 1], [@ended, @parts.names.count(:fork_failed)]
    assert_equal [3, 3], %i[node_replacing node_replaced].map { |name| @parts.names.count(name) }
  end

  test "looks at a slot as often among many as among few" do
    few, many = [20, 60].map { |count| looks_of_a_restart(count) }
    assert_operator many, :<, 4 * few
  end

  test "needs no node for a slot that is removed meanwhile" do
    wait_alone
    @parts.node_pool.remove(slots[2], "scale")
    assert_equal [nil], @ended
  end

  test "fails if the swarm stops" do
    update.start
    @parts.lifecycle.stop
    @parts.node_pool.stop
    assert_equal [:failed, ["the swarm is stopping"]], [@update.state, @ended]
  end

  private

  # How often the policy is asked.
  def looks_of_a_restart(nodes)
    @parts = fresh(*[0] * nodes)
    @parts.ready(booting.first) while booting.any?
    looks, policy = 0, Skep::Swarm::Nodes::SlotPolicy.method(:next)
    count = ->(*facts) { (looks += 1) && policy.call(*facts) }
    Skep::Swarm::Nodes::SlotPolicy.stub(:next, count) do
      update.start
      nodes.times { @parts.replace_one }
    end
    assert_equal :done, @update.state
    looks
  end

  def slots = @parts.slots
  def booting = @parts.booting

  def fresh(*loads)
    @parts.close
    RolloutParts.new(*loads).boot
  end

  # The node is in a crash loop, and waits.
  def crash(id) = @parts.ended(slots[id].node, 3)

  def wait_alone
    crash(2)
    update(slots: [slots[2]]).start
  end

  def update(**how)
    parts = { **@parts.to_h, **how }
    @update = Skep::Swarm::Rollout::RollingUpdate.new("restart", **parts) do |why, hint|
      @ended << why
      @hint = hint
    end
  end
end
