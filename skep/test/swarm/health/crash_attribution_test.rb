# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Uses a real page, and nodes without processes.
class CrashAttributionTest < Skep::TestCase
  Swarm = Skep::Swarm
  ExitStatus = Swarm::IPC::ExitStatus
  private_constant :Swarm, :ExitStatus

  # The methods of a node pool and of a node that CrashAttribution calls.
  NodePool = Struct.new(:stopping, :nodes, :slots) do
    def stopping? = stopping
    def node_table = self
  end
  Node = Struct.new(:id, :page_index, :reason, :sent, :clears_suspects, :task) do
    def channel = self
    def event_facts = { node: id }
    def post_encoded(bytes) = [frames << bytes, sent << JSON.parse(bytes.byteslice(6..))]
    def frames = @frames ||= []
    def live? = true
    def helper? = false
  end
  Slot = Struct.new(:id, :deaths)
  private_constant :NodePool, :Node, :Slot

  def setup
    super
    @layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 3, threads: 2)
    @page = Skep::OS::SharedPage.create(@layout.total)
    @nodes = Array.new(3) { |id| Node.new(id, id, nil, []) }
    slots = Array.new(3) { |id| Slot.new(id, Swarm::Nodes::RestartHistory.new) }
    @node_pool = NodePool.new(false, @nodes, slots)
    @published = []
    @events = Skep::Swarm::Runtime::EventBus.new
    @events.subscribe { |event| @published << event }
    scoreboard = Swarm::IPC::Scoreboard::Reader.new(@page, @layout)
    @crash_attribution = Swarm::Health::CrashAttribution.new(@node_pool, scoreboard:,
                                                                       events: @events)
  end

  def teardown
    @page.close
    super
  end

  test "counts an exit as a crash if the work may have caused it" do
    { [nil, "SEGV"] => true, [nil, "KILL"] => true, [nil, "TERM"] => true, ["oom", "KILL"] => true,
      ["memory_limit", "KILL"] => true,
      ["channel_closed", "KILL"] => true, [nil, 1] => true, [nil, 0] => true,
      ["restart", "SEGV"] => true, ["stop_timeout", "BUS"] => true,
      ["restart", "KILL"] => false, ["stop_timeout", "KILL"] => false, ["scale", 1] => false,
      ["unhealthy", "KILL"] => false, ["unhealthy", "ABRT"] => true,
      ["memory_budget", "KILL"] => false, ["max_lifetime", "KILL"] => false,
      ["forced", "KILL"] => false }.each do |(reason, how), crash|
      assert_equal crash, crash?(reason, how), "#{reason} #{how}"
    end
  end

  # Node 0 has hung for 30 seconds with "a". A page has times of so many seconds ago.
  {
    "if another node has done something meanwhile" => ->(one) { one.done(1, ago: 15) },
    "if another thread of the node has done something meanwhile" =>
      ->(one) { one.done(0, ago: 15, thread: 2) },
    "if another thread goes on with what it had in flight before" =>
      ->(one) { one.hold(1, "b", ago: 60, beat: 6) },
    "if the node has done something before, and nothing else is in flight" =>
      ->(one) { one.done(0, ago: 60) }
  }.each do |case_, facts|
    test "counts a hang as a crash #{case_}" do
      hold(0, "a", ago: 30)
      facts.call(self)
      assert crash?("hung", "KILL")
      assert crash?("hung", "ABRT")
    end
  end

  {
    "while no node does anything, as what they wait for may not answer" =>
      ->(one) { one.hold(1, "b", ago: 27) },
    "if others have done something only before" => ->(one) { one.done(1, ago: 36) },
    "if others have done something only at its beginning" => ->(one) { one.done(1, ago: 27) },
    "if another node has begun something anew, and nothing is done" =>
      ->(one) { [one.done(0, ago: 60), one.hold(1, "b", ago: 6)] },
    "if another thread of the node hangs, too" =>
      ->(one) { [one.done(0, ago: 60), one.hold(0, "b", ago: 27, thread: 2)] },
    "if another node hangs, too, whatever both had done before" =>
      ->(one) { [one.done(0, ago: 60), one.done(1, ago: 60), one.hold(1, "b", ago: 27)] }
  }.each do |case_, facts|
    test "counts no hang #{case_}" do
      hold(0, "a", ago: 30)
      facts.call(self)
      refute crash?("hung", "KILL")
      assert crash?(nil, "KILL")
    end
  end

  test "what a node of another work does says nothing of a hang" do
    @nodes[1].task = 1
    hold(0, "a", ago: 30)
    done(1, ago: 15)
    refute crash?("hung", "KILL")
    done(0, ago: 60)
    hold(1, "b", ago: 10)
    assert crash?("hung", "KILL")
  end

  test "counts no hang of several nodes, although the others were ended before" do
    @nodes.each { |node| [done(node.id, ago: 60), hold(node.id, "a", ago: 30)] }
    @nodes.each do |node|
      refute crash?("hung", "KILL", node)
      @page.set(@layout.of(node.page_index), Swarm::IPC::Scoreboard::Layout::IN_FLIGHT_SINCE, 0)
    end
  end

  # So it was no dependency that didn't answer, although other nodes hang again, too.
  test "counts a hang of several nodes if the node hangs anew after it has done something" do
    2.times { |n| [done(n, ago: 60), hold(n, "a", ago: 30)] }
    refute crash?("hung", "KILL")
    done(0, ago: 33)
    assert crash?("hung", "KILL")
  end

  test "counts no exit as a crash while the swarm stops" do
    hold(0, "a job", at: 7)
    [true, false].each do |stopping|
      @node_pool.stopping = stopping
      @crash_attribution.node_exited(@nodes[0], ExitStatus.new(nil, "SEGV"))
      assert_equal stopping, @crash_attribution.to_plain.empty?
    end
  end

  test "publishes a suspect, and sends it to all nodes" do
    hold(0, "a job", at: 7)
    @nodes[0].reason = "oom"
    @crash_attribution.node_exited(@nodes[0], ExitStatus.new(nil, "KILL"))
    type, facts = @nodes[1].sent.first
    assert_equal ["suspects", ["SIGKILL, oom"], 1],
                 [type, *facts["added"].first.values_at("ends", "crashes")]
    facts = { node: 0, in_flight: ["a job at 7"], crashes: 1, alone: true }
    assert_equal [[:work_isolated, :warn, @nodes[0], facts]], @published.map(&:to_a)
  end

  test "a message to all nodes is encoded once, however many there are" do
    hold(0, "a job")
    @crash_attribution.node_exited(@nodes[0], ExitStatus.new(nil, "SEGV"))
    @crash_attribution.forget
    frames = @nodes.map { |node| node.frames.map(&:object_id) }
    assert_equal [2, 1], [frames.first.size, frames.uniq.size]
  end

  test "publishes and sends nothing for a node with nothing in flight" do
    @crash_attribution.node_exited(@nodes[0], ExitStatus.new(nil, "SEGV"))
    assert_empty @published + @nodes[1].sent
  end

  test "counts the items of all threads, none of them as alone" do
    hold(1, "a", thread: 1)
    hold(1, "b", thread: 2)
    2.times { @crash_attribution.node_exited(@nodes[1], ExitStatus.new(nil, "SEGV")) }
    suspects = @crash_attribution.to_plain
    counts = suspects.map { |one| one.values_at("in_flight", "crashes", "alone") }
    assert_equal [["a", 2, 0], ["b", 2, 0]], counts
  end

  test "clears items that are resolved as done, and sends them as dropped" do
    hold(0, "a")
    @crash_attribution.node_exited(@nodes[0], ExitStatus.new(nil, "SEGV"))
    2.times { resolve([["a", nil]], blamed: false) }
    assert_empty @crash_attribution.to_plain
    assert_equal [["suspects", { "dropped" => [["a", nil]] }]], @nodes[2].sent.drop(1)
  end

  test "what no node has said to be done is forgotten in the end, unless it is in flight" do
    hold(0, "a", ago: 1)
    @crash_attribution.node_exited(@nodes[0], ExitStatus.new(nil, "SEGV"))
    @crash_attribution.forget_old(Skep::OS.now + 9_000)
    assert_equal ["a"], @crash_attribution.to_a.map(&:to_s)
    @page.clear(@layout.of(0))
    @crash_attribution.forget_old(Skep::OS.now + 500)
    assert_equal ["a"], @crash_attribution.to_a.map(&:to_s)
    @crash_attribution.forget_old(Skep::OS.now + 700)
    assert_empty @crash_attribution.to_a
    assert_equal ["suspects", { "dropped" => [["a", nil]] }], @nodes[2].sent.last
  end

  test "forget clears all suspects, and sends them as dropped" do
    hold(0, "a")
    hold(0, "b", thread: 1)
    @crash_attribution.node_exited(@nodes[0], ExitStatus.new(nil, "SEGV"))
    2.times { @crash_attribution.forget }
    assert_empty @crash_attribution.to_a
    dropped = @nodes[2].sent.filter_map { |_, facts| facts["dropped"] }
    assert_equal [[["a", nil], ["b", nil]]], dropped
  end

  test "removes the crashes of blamed items from the deaths of their slots" do
    @node_pool.slots.each { |slot| 3.times { |n| slot.deaths.add("work", n.to_f, within: 60.0) } }
    hold(0, "a")
    2.times { @crash_attribution.node_exited(@nodes[0], ExitStatus.new(nil, "SEGV")) }
    2.times { resolve([["a", nil]], blamed: true) }
    assert_equal [[0.0], [0.0, 1.0, 2.0], [0.0, 1.0, 2.0]],
                 (@node_pool.slots.map { |slot| slot.deaths.times })
    assert_equal 2, @crash_attribution.to_plain.first["crashes"]
  end

  def done(page_index, ago:, thread: 0)
    write(page_index, thread, Swarm::IPC::Scoreboard::Layout::DONE_AT, ago)
  end

  # ago: since when it is in flight; beat: when it made progress last.
  def hold(page_index, text, at: nil, thread: 0, ago: nil, beat: ago)
    heartbeat = Swarm::IPC::Scoreboard::Heartbeat.new(@page, @layout.of(page_index, thread:))
    heartbeat.in_flight(text)
    heartbeat.current_item(at) if at
    return unless ago

    write(page_index, thread, Swarm::IPC::Scoreboard::Layout::IN_FLIGHT_SINCE, ago)
    write(page_index, thread, Skep::OS::SharedPage::BEAT, beat)
  end

  private

  def write(page_index, thread, word, ago)
    cell = @layout.of(page_index, thread:)
    @page.set(cell, word, ((Skep::OS.now - ago) * 1e9).to_i)
  end

  def crash?(reason, how, node = @nodes[0])
    hold(node.page_index, "a") if @page.read(@layout.of(node.page_index)).to_s.empty?
    exit = how.is_a?(String) ? ExitStatus.new(nil, how) : ExitStatus.new(how, nil)
    before = @published.size
    node.reason = reason
    @crash_attribution.node_exited(node, exit)
    @published.size > before
  end

  def resolve(keys, blamed:)
    @crash_attribution.resolve({ "suspects" => keys, "blamed" => blamed })
  end
end
