# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Nodes that were never forked, on a real page.
class CrashAttributionTest < Skep::TestCase
  Swarm = Skep::Swarm
  ExitStatus = Swarm::IPC::ExitStatus
  private_constant :Swarm, :ExitStatus

  # What is asked of a node pool, and of each node.
  NodePool = Struct.new(:stopping, :nodes, :slots) do
    def stopping? = stopping
    def node_table = self
  end
  Node = Struct.new(:id, :page_index, :reason, :sent, :pid, :exit_status) do
    def channel = self
    def event_facts = { node: id }
    def post(type, facts) = sent << [type, facts]
    def live? = true
    def helper? = false
  end
  Slot = Struct.new(:id, :deaths)
  private_constant :NodePool, :Node, :Slot

  def setup
    super
    @layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 3, threads: 2)
    @page = Skep::OS::SharedPage.create(@layout.total)
    @nodes = Array.new(3) { |id| Node.new(id, id, nil, [], 1_000 + id) }
    slots = Array.new(3) { |id| Slot.new(id, Swarm::Nodes::RestartHistory.new) }
    @node_pool = NodePool.new(false, @nodes, slots)
    @told = []
    @events = Skep::Swarm::Runtime::EventBus.new
    @events.subscribe { |event| @told << event }
    scoreboard = Swarm::IPC::Scoreboard::Reader.new(@page, @layout)
    @crash_attribution = Swarm::Health::CrashAttribution.new(@node_pool, scoreboard:,
                                                                       events: @events)
  end

  def teardown
    @page.close
    super
  end

  test "takes for a crash what could be the work's fault" do
    { [nil, "SEGV"] => true, [nil, "KILL"] => true, [nil, "TERM"] => true, ["oom", "KILL"] => true,
      ["hung", "KILL"] => true, ["hung", "ABRT"] => true, ["memory_limit", "KILL"] => true,
      ["channel_closed", "KILL"] => true, [nil, 1] => true, [nil, 0] => true,
      ["restart", "SEGV"] => true, ["stop_timeout", "BUS"] => true,
      ["restart", "KILL"] => false, ["stop_timeout", "KILL"] => false, ["scale", 1] => false,
      ["unhealthy", "KILL"] => false, ["unhealthy", "ABRT"] => false,
      ["memory_budget", "KILL"] => false, ["max_lifetime", "KILL"] => false,
      ["forced", "KILL"] => false }.each do |(reason, how), crash|
      assert_equal crash, crash?(reason, how), "#{reason} #{how}"
    end
  end

  test "charges nothing to a node that its mold never reported, as no exit of it will be known" do
    hold(0, "a job", at: 7)
    @nodes[0].pid = nil
    @crash_attribution.record_crash(@nodes[0])
    assert_empty @crash_attribution.to_plain
  end

  test "takes nothing for a crash while the swarm stops" do
    hold(0, "a job", at: 7)
    @nodes[0].exit_status = ExitStatus.new(nil, "SEGV")
    [true, false].each do |stopping|
      @node_pool.stopping = stopping
      @events.announce(:node_lost, @nodes[0])
      @events.publish(:node_died, @nodes[0])
      assert_equal stopping, @crash_attribution.to_plain.empty?
    end
  end

  test "lets who is forked meanwhile know at once, and all others when it is known how" do
    hold(0, "a job", at: 7)
    @crash_attribution.record_crash(@nodes[0])
    known = @crash_attribution.to_plain
    assert_equal [["a job", 7, []]],
                 known.map { |one| one.values_at("in_flight", "current_item", "ends") }
    assert_empty @nodes[1].sent
    @nodes[0].reason = "oom"
    @crash_attribution.set_exit(@nodes[0], ExitStatus.new(nil, "KILL"))
    type, facts = @nodes[1].sent.first
    assert_equal ["suspects", ["SIGKILL, oom"], 1],
                 [type, *facts["added"].first.values_at("ends", "crashes")]
    facts = { node: 0, in_flight: ["a job at 7"], crashes: 1, alone: true }
    assert_equal [[:work_isolated, :warn, @nodes[0], facts]], @told.map(&:to_a)
  end

  test "says nothing of who had nothing in hand" do
    @crash_attribution.record_crash(@nodes[0])
    @crash_attribution.set_exit(@nodes[0], ExitStatus.new(nil, "SEGV"))
    assert_empty @told + @nodes[1].sent
  end

  test "counts each thread's, and that none was alone" do
    hold(1, "a", thread: 1)
    hold(1, "b", thread: 2)
    2.times { @crash_attribution.set_exit(@nodes[1], ExitStatus.new(nil, "SEGV")) }
    told = @crash_attribution.to_plain.map { |one| one.values_at("in_flight", "crashes", "alone") }
    assert_equal [["a", 2, 0], ["b", 2, 0]], told
  end

  test "forgets what was done, and tells so" do
    hold(0, "a")
    @crash_attribution.set_exit(@nodes[0], ExitStatus.new(nil, "SEGV"))
    2.times { resolve([["a", nil]], blamed: false) }
    assert_empty @crash_attribution.to_plain
    assert_equal [["suspects", { "dropped" => [["a", nil]] }]], @nodes[2].sent.drop(1)
  end

  test "forgets all of it for new code" do
    hold(0, "a")
    hold(0, "b", thread: 1)
    @crash_attribution.set_exit(@nodes[0], ExitStatus.new(nil, "SEGV"))
    2.times { @crash_attribution.forget }
    assert_empty @crash_attribution.to_a
    dropped = @nodes[2].sent.filter_map { |_, facts| facts["dropped"] }
    assert_equal [[["a", nil], ["b", nil]]], dropped
  end

  test "counts crashes whose cause is known no more against their slots" do
    @node_pool.slots.each { |slot| 3.times { |n| slot.deaths.add("work", n.to_f, within: 60.0) } }
    hold(0, "a")
    2.times { @crash_attribution.set_exit(@nodes[0], ExitStatus.new(nil, "SEGV")) }
    2.times { resolve([["a", nil]], blamed: true) }
    assert_equal [[0.0], [0.0, 1.0, 2.0], [0.0, 1.0, 2.0]],
                 (@node_pool.slots.map { |slot| slot.deaths.times })
    assert_equal 2, @crash_attribution.to_plain.first["crashes"]
  end

  test "is remembered by the supervisor's next program" do
    hold(0, "a", at: 3)
    @crash_attribution.set_exit(@nodes[0], ExitStatus.new(9))
    plain = JSON.parse(JSON.generate(@crash_attribution.dump))
    again = Swarm::Health::CrashAttribution.new(@node_pool, scoreboard: nil, events: Skep::Swarm::Runtime::EventBus.new)
    again.restore(plain)
    assert_equal @crash_attribution.to_a, again.to_a
  end

  private

  def crash?(reason, how)
    node = Node.new(0, 0, reason, [], 1_000)
    hold(0, "a")
    @crash_attribution.record_crash(node)
    exit = how.is_a?(String) ? ExitStatus.new(nil, how) : ExitStatus.new(how, nil)
    before = @told.size
    @crash_attribution.set_exit(node, exit)
    @told.size > before
  end

  def hold(page_index, text, at: nil, thread: 0)
    heartbeat = Swarm::IPC::Scoreboard::Heartbeat.new(@page, @layout.of(page_index, thread:))
    heartbeat.hold(text)
    heartbeat.current_item(at) if at
  end

  def resolve(keys, blamed:)
    @crash_attribution.resolve({ "suspects" => keys, "blamed" => blamed })
  end
end
