# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class RecyclerTest < Skep::TestCase
  Slot = Struct.new(:id, :node, :successor)
  Node = Struct.new(:slot, :state, :watches) do
    def id = slot.id
    def ready? = state == :ready
    def live? = state != :dead
    def retired? = state == :stopping
  end
  Retired = Struct.new(:all) do
    def retire(node, reason) = all << [node.id, reason]
  end
  # Records the replacements. A test completes them.
  NodePool = Struct.new(:slots, :begun, :replacements) do
    def replace(slot, reason, &done) = begun << [slot.id, reason, done]
    def terminate(node, reason) = replacements.retire(node, reason)
    def replacing?(_slot) = false
    def stopping? = false
  end
  private_constant :Slot, :Node, :Retired, :NodePool

  def setup
    @loop = Skep::OS::EventLoop.new
    super
  end

  def teardown
    @loop.close
    super
  end

  test "replaces one node after the other" do
    nodes = swarm(3)
    assert_equal([true] * 3, nodes.map { |node| @recycler.recycle(node, "max_lifetime") })
    assert_equal [[0, "max_lifetime"]], begun
    @node_pool.begun.last.last.call(true)
    @node_pool.begun.last.last.call(false)
    assert_equal [0, 1, 2], begun.map(&:first)
  end

  test "replaces one in twenty nodes at a time" do
    swarm(60).each { |node| @recycler.recycle(node, "max_lifetime") }
    assert_equal [0, 1, 2], begun.map(&:first)
  end

  test "refuses a node whose replacement is queued already" do
    nodes = swarm(2)
    nodes.each { |node| @recycler.recycle(node, "max_lifetime", throttle: false) }
    refute @recycler.recycle(nodes[1], "memory_limit", throttle: false)
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
      asked.tap { @node_pool.begun.last.last.call(true) if asked }
    end
    assert_equal [true, true, true, false], answers
    assert @recycler.recycle(node, "max_lifetime", throttle: false)
  end

  test "recycling? returns true for a queued or stopping node" do
    nodes = swarm(2)
    nodes.each { |node| @recycler.recycle(node, "max_lifetime") }
    refute @recycler.recycling?(nodes[0]), "its replacement has started"
    assert @recycler.recycling?(nodes[1])
    nodes[0].state = :stopping
    assert @recycler.recycling?(nodes[0])
    nodes[0].state = :dead
    refute @recycler.recycling?(nodes[0])
  end

  test "stop_now stops a node without waiting for its successor" do
    node = swarm(1).first
    @recycler.stop_now(node, "memory_limit")
    assert_equal [[0, "memory_limit"]], begun
    assert_equal [[0, "memory_limit"]], @node_pool.replacements.all
    assert_equal 1, node.watches.size
  end

  private

  def swarm(size, **options)
    config = Skep::Swarm::Definition::Config.new("a", options)
    slots = Array.new(size) { |id| Slot.new(id) }
    @node_pool = NodePool.new(slots, [], Retired.new([]))
    restart_policy = Skep::Swarm::Nodes::RestartPolicy.new(config)
    @recycler = Skep::Swarm::Memory::Recycler.new(@node_pool, config, loop: @loop, restart_policy:)
    slots.map { |slot| slot.node = Node.new(slot, :ready, []) }
  end

  def begun = @node_pool.begun.map { |slot, reason, _| [slot, reason] }
end
