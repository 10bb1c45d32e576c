# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# All nodes are one idle process. Its resident memory is read, the page counts are made up, and the
# control group has no limit.
class MemoryMonitorTest < Skep::TestCase
  MIB = 1 << 20
  Slot = Struct.new(:id, :node, :successor, :replacing, :not_before) do
    def reason_to_replace = node.replace_for
  end
  Group = Struct.new(:limit, :high, :oom_kills)
  Node = Struct.new(:slot, :pid, :state, :node_memory, :watches, :sent, :options, :replace_for,
                    :reason) do
    def id = slot.id
    def event_facts = { id: }
    def ready? = state == :ready
    def live? = true
    def failing? = false
    def helper? = false
    def mold = self
    def channel = self
    def post(type) = sent << type
  end
  # In place of the node pool: records the replacements.
  NodePool = Struct.new(:slots, :replaced, :memory_monitor) do
    def replace(node, reason)
      node.replace_for = reason
      replaced << [node.slot.id, reason]
    end

    def terminate(node, reason)
      node.state, node.reason = :stopping, reason
      replaced << [node.id, reason, "at once"]
    end

    def stopping? = false
    def node_table = self
    def nodes = slots.flat_map { |slot| [slot.node, slot.successor] }.grep(Node)
  end
  Random = Struct.new(:rand)
  Backoff = Struct.new(:seconds) do
    def delay(*) = seconds
  end
  private_constant :MIB, :Slot, :Group, :Node, :NodePool, :Random, :Backoff

  def setup
    super
    @loop = Skep::OS::EventLoop.new
    @published = []
    @pid, @end = idle_process
  end

  def teardown
    @end.close
    Process.wait(@pid)
    @loop.close
    super
  end

  test "returns the node's last measurement, and what it can without one" do
    node = swarm.first
    assert_nil @memory_monitor.memory(node)[:uss]
    assert_operator @memory_monitor.memory(node)[:rss], :>, MIB
    measured(node, 10)
    assert_in_delta 10 * MIB, @memory_monitor.memory(node)[:uss], 5 * MIB
    assert_nil @memory_monitor.memory(nil)
  end

  test "a node has answered a request once its measurement is newer" do
    node = swarm.first
    measured(node, 10)
    since = Skep::OS.now
    @memory_monitor.measure([node])
    assert_equal ["measure"], node.sent
    refute @memory_monitor.answered?(node, since:)
    measured(node, 10)
    assert @memory_monitor.answered?(node, since:)
  end

  test "a node whose counters can't be read is measured by itself alone" do
    @pid, pid = 2**22, @pid # no process has this number
    node, = swarm(1, memory_limit: "500M")
    @pid = pid
    assert_equal 0, @memory_monitor.memory(node)[:rss]
    measured(node, 550)
    assert_equal 550 * MIB, @memory_monitor.memory(node)[:rss]
    await { @node_pool.replaced.any? }
    assert_equal [[:node_over_limit, 0, false]], published(:at_once)
  end

  test "replaces a node over its limit once, and publishes node_over_limit" do
    node, other = swarm(2, memory_limit: "500M")
    measured(other, 450)
    measured(node, 550)
    await { @node_pool.replaced.any? }
    3.times { @loop.turn(0.3) }
    assert_equal [[0, "memory_limit"]], @node_pool.replaced
    assert_equal [[:node_over_limit, 0, false]], published(:at_once)
  end

  test "each work has its own limit, or none" do
    nodes = swarm(3, memory_limit: "500M", works: [{ memory_limit: "600M" }, { memory_limit: nil },
                                                   {}])
    nodes.each { |node| measured(node, 550) }
    await { @node_pool.replaced.any? }
    3.times { @loop.turn(0.3) }
    assert_equal [[2, "memory_limit"]], @node_pool.replaced
    assert_equal [[:node_over_limit, 2, 500 * MIB]], published(:limit)
  end

  test "each work has its own max_lifetime" do
    swarm(2, max_lifetime: 3600.0, works: [{ max_lifetime: 0.01 }, {}])
    await { @node_pool.replaced.any? }
    2.times { @loop.turn(0.6) }
    assert_equal [[0, "max_lifetime"]], @node_pool.replaced
  end

  test "stops a node far over its limit at once" do
    node, = swarm(1, memory_limit: "500M")
    measured(node, 800)
    await { @node_pool.replaced.any? }
    assert_equal [[0, "memory_limit", "at once"]], @node_pool.replaced
    assert_equal [[:node_over_limit, 0, true]], published(:at_once)
    assert_equal ["memory_limit", 1], [node.replace_for, node.watches.size]
  end

  test "replaces the node with the most private memory if the swarm exceeds memory_budget" do
    nodes = swarm(3, memory_budget: "1200M")
    nodes.each { |node| node.node_memory.instance_variable_set(:@ready_at, -100.0) } # not young
    nodes.zip([300, 500, 400]) { |node, mib| measured(node, mib) }
    await { @node_pool.replaced.any? }
    assert_equal [[1, "memory_budget"]], @node_pool.replaced
    assert_equal [[:swarm_over_budget, 1, false]], published(:at_once)
  end

  test "publishes budget_too_small once, and replaces no node" do
    swarm(2, memory_budget: "1M").each { |node| measured(node, 300) }
    await { @published.any? }
    2.times { @loop.turn(0.6) }
    assert_empty @node_pool.replaced
    assert_equal [[:budget_too_small, nil, MIB]], published(:budget)
  end

  test "replaces a node that exceeds max_lifetime, once" do
    swarm(1, max_lifetime: 0.01)
    await { @node_pool.replaced.any? }
    2.times { @loop.turn(0.6) }
    assert_equal [[0, "max_lifetime"]], @node_pool.replaced
  end

  test "varies lifetimes by at most a tenth" do
    [0.0, 0.5, 1.0].zip([90.0, 100.0, 110.0]) do |rand, seconds|
      memory = swarm(1, random: Random.new(rand), max_lifetime: 100.0).first.node_memory
      assert_in_delta seconds, memory.expires_at - memory.ready_at
    end
  end

  test "replaces no node that has a successor, stops or doesn't hold its slot" do
    node, other, third = swarm(3, max_lifetime: 0.01)
    node.slot.successor = other
    other.state = :stopping
    third.slot.node = node
    2.times { @loop.turn(0.6) }
    assert_empty @node_pool.replaced
  end

  test "a slot whose nodes were replaced too often waits, but not for max_lifetime" do
    node, = swarm(1, backoff: Backoff.new(3600.0), memory_limit: "500M", max_lifetime: 1.0)
    measured(node, 550)
    await { @node_pool.replaced.any? }
    node.replace_for = nil # no successor could boot
    await { @node_pool.replaced.size > 1 }
    assert_equal [[0, "memory_limit"], [0, "max_lifetime"]], @node_pool.replaced
  end

  test "a slot waits, too, after a successor that was far over its limit" do
    node, = swarm(1, backoff: Backoff.new(3600.0), memory_limit: "500M")
    slot = node.slot
    slot.successor = Node.new(slot, @pid, :ready, nil, [], [], node.options)
    @memory_monitor.watch(slot.successor)
    measured(slot.successor, 800)
    await { @node_pool.replaced.any? }
    assert_equal [[0, "memory_limit", "at once"]], @node_pool.replaced
    assert_operator slot.not_before, :>, Skep::OS.now + 3000
  end

  private

  # Forks a process that is idle until the other end of its pipe is closed.
  def idle_process
    reader, ours = IO.pipe
    pid, up = in_child do |writer|
      ours.close
      writer.write("up")
      reader.read
    end
    reader.close
    wait_readable(up)
    [pid, ours]
  end

  # works: the options of the work of each node.
  def swarm(size = 1, random: Random.new(0.5), backoff: Backoff.new(0.0), works: [], **options)
    tasks = works.map { |own| { "options" => own.transform_keys(&:to_s) } }
    config = Skep::Swarm::Definition::Config.new("a", options, tasks:)
    @node_pool = NodePool.new(Array.new(size) { |id| Slot.new(id) }, [])
    events = Skep::Swarm::Runtime::EventBus.new
    events.subscribe { |event| @published << [event.name, { level: event.level, **event.facts }] }
    cgroup_memory = Skep::Swarm::Memory::CgroupMemory.new(Group.new(nil, nil, 0), events:)
    @samples = {}.compare_by_identity
    @memory_monitor = Skep::Swarm::Memory::MemoryMonitor.new(
      @node_pool, config, cgroup_memory, loop: @loop, events:, samples: @samples.method(:[]),
      restart_policies: Hash.new(backoff), random:
    )
    @node_pool.memory_monitor = @memory_monitor
    @node_pool.slots.each do |slot|
      options = config.works[slot.id] || config
      slot.node = Node.new(slot, @pid, :ready, nil, [], [], options)
    end.map(&:node).each { |node| @memory_monitor.watch(node) }
  end

  # Sets the result of a node's measurement: its private memory in MiB.
  def measured(node, mib)
    anonymous = Skep::OS::Memory::Statm.of(@pid).anonymous
    bytes = { "rss" => mib, "pss" => mib, "uss" => mib, "shared" => 0, "swap" => 0 }
    @samples[node] = [Skep::OS.now, { **bytes.transform_values { |value| value * MIB },
                                      "anonymous" => anonymous }]
  end

  def await
    deadline = Skep::OS.now + 10
    @loop.turn(0.1) until yield || Skep::OS.now > deadline
  end

  def published(fact)
    @published.map do |name, facts|
      [name, *facts.values_at(:id, fact)]
    end
  end
end
