# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class RecyclerTest < Skep::TestCase
  Slot = Struct.new(:id, :node, :successor, :reason_to_replace, :replacing)
  Node = Struct.new(:slot, :state, :watches, :replace_for) do
    def id = slot.id
    def ready? = state == :ready
    def live? = state != :dead
    def retired? = state == :stopping
  end
  # Records the replacements.
  NodePool = Struct.new(:begun, :terminated) do
    def replace(node, reason)
      node.slot.reason_to_replace = reason
      begun << [node.id, reason]
    end

    def terminate(node, reason) = terminated << [node.id, reason]
    def stopping? = false
  end
  private_constant :Slot, :Node, :NodePool

  def setup
    @loop = Skep::OS::EventLoop.new
    super
  end

  def teardown
    @loop.close
    super
  end

  test "replaces a node once" do
    node = swarm(1).first
    answers = Array.new(2) { @recycler.recycle(node, "max_lifetime", throttle: false) }
    assert_equal [[true, false], [[0, "max_lifetime"]]], [answers, begun]
  end

  test "refuses a node that is being replaced, is stopping or doesn't hold its slot" do
    node, other, third = swarm(3)
    node.slot.successor = other
    other.state = :stopping
    third.slot.node = nil
    assert_equal([false] * 3, [node, other, third].map { |one| @recycler.recycle(one, "x") })
    assert_empty begun
  end

  test "refuses a slot that was recycled too often, unless throttle is false" do
    node = swarm(1, max_restarts: 2).first
    answers = Array.new(4) do
      asked = @recycler.recycle(node, "memory_limit")
      asked.tap { node.slot.reason_to_replace = nil }
    end
    assert_equal [true, true, true, false], answers
    assert @recycler.recycle(node, "max_lifetime", throttle: false)
  end

  test "recycling? returns true for a node that is to be replaced, is replaced, or stops" do
    node = swarm(1).first
    refute @recycler.recycling?(node)
    @recycler.recycle(node, "max_lifetime")
    assert @recycler.recycling?(node)
    node.slot.reason_to_replace = nil
    node.slot.replacing = "restart"
    assert @recycler.recycling?(node)
    node.slot.replacing = nil
    node.state = :stopping
    assert @recycler.recycling?(node)
    node.state = :dead
    refute @recycler.recycling?(node)
  end

  test "stop_now stops a node without waiting for its successor" do
    node = swarm(1).first
    @recycler.stop_now(node, "memory_limit")
    assert_equal ["memory_limit", [[0, "memory_limit"]]], [node.replace_for, @node_pool.terminated]
    assert_equal 1, node.watches.size
  end

  private

  def swarm(size, **options)
    config = Skep::Swarm::Definition::Config.new("a", options)
    slots = Array.new(size) { |id| Slot.new(id) }
    @node_pool = NodePool.new([], [])
    restart_policy = Skep::Swarm::Nodes::RestartPolicy.new(config)
    @recycler = Skep::Swarm::Memory::Recycler.new(@node_pool, config, loop: @loop, restart_policy:)
    slots.map { |slot| slot.node = Node.new(slot, :ready, []) }
  end

  def begun = @node_pool.begun
end
