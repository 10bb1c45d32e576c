# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Uses a real event loop and page, but no processes.
class LivenessMonitorTest < Skep::TestCase
  Swarm = Skep::Swarm
  TIMEOUT = 0.5
  Node = Struct.new(:page_index, :ready_at, :unhealthy_reports, :options) do
    attr_writer :lost
    attr_accessor :grace_until, :asked, :stepping_in
    alias_method :stepping_in?, :stepping_in

    def ask_for_lines(**) = self.asked = asked.to_i + 1
    def ready? = true
    def failing? = @failing ? true : false
    def failing!(_failure) = @failing = true
    def lost? = @lost ? true : false
    def event_facts = {}
  end
  # Counts the checks.
  NodeTable = Struct.new(:all, :checks) do
    def nodes
      self.checks += 1
      all
    end
  end
  private_constant :Swarm, :TIMEOUT, :Node, :NodeTable

  def setup
    super
    @layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 1_000, threads: 1)
    @page = Skep::OS::SharedPage.create(@layout.total)
    @errors = 0
    guard = lambda do |_kind, &block|
      block.call
      nil
    rescue StandardError => e
      @errors += 1
      e
    end
    @loop = Skep::OS::EventLoop.new(guard:)
    @events = []
    @failed_nodes = []
    @node_table = NodeTable.new([], 0)
    @liveness_monitor = liveness_monitor
  end

  def teardown
    @loop.close
    @page.close
    super
  end

  test "reports a node without heartbeats as hung, once" do
    node(0)
    turn_until { @failed_nodes.any? }
    assert_equal [[0, :hung, 0]], @failed_nodes
    turn_until { @node_table.checks >= 4 }
    assert_equal [[0, :hung, 0]], @failed_nodes
  end

  test "a spare that is stepping in is judged by the swarm's timeout until it has answered" do
    @liveness_monitor = liveness_monitor({ "liveness_timeout" => 0.02 })
    spare = node(0, 0)
    spare.stepping_in = true
    began = Skep::OS.now
    turn_until { @node_table.checks >= 3 }
    assert_empty @failed_nodes
    assert_empty @liveness_monitor.slow(spare, Skep::OS.now + 60)
    turn_until { @failed_nodes.any? }
    assert_operator Skep::OS.now - began, :>=, TIMEOUT
  end

  test "reports the hung thread of a node that still beats" do
    node = node(0)
    Swarm::IPC::Scoreboard::Heartbeat.new(@page, @layout.of(0, thread: 1)).in_flight("a job")
    beat(node)
    turn_until { @failed_nodes.any? }
    assert_equal [[0, :hung, 1]], @failed_nodes
  end

  test "asks a node with a slow thread where it stands, before it is overdue" do
    node = node(0)
    Swarm::IPC::Scoreboard::Heartbeat.new(@page, @layout.of(0, thread: 1)).in_flight("a job")
    beat(node)
    assert_empty @liveness_monitor.slow(node)
    turn_until { node.asked }
    assert_equal [[1], []], [@liveness_monitor.slow(node).map(&:thread), @failed_nodes]
    turn_until { @failed_nodes.any? }
    node.failing!(:hung)
    assert_equal [1], @liveness_monitor.slow(node).map(&:thread) # while it is being ended, too
    node.lost = true
    assert_empty @liveness_monitor.slow(node)
  end

  test "asks no node that beats, nor one whose slow thread has declared to be busy" do
    node = node(0)
    busy = Swarm::IPC::Scoreboard::Heartbeat.new(@page, @layout.of(0, thread: 1))
    busy.in_flight("a job")
    busy.busy(60)
    beat(node)
    turn_until { @node_table.checks >= 5 }
    assert_equal [nil, []], [node.asked, @liveness_monitor.slow(node)]
  end

  test "reports no node that beats" do
    node = node(0)
    beat(node)
    turn_until { @node_table.checks >= 5 }
    assert_empty @failed_nodes
  end

  test "checks a thousand nodes with one timer, all at the same time" do
    nodes = Array.new(1_000) { |page_index| node(page_index) }
    nodes.each { |node| beat_once(node) }
    assert_match(/timers=1/, @loop.inspect)
    turn_until { @node_table.checks >= 1 }
    assert_match(/timers=1/, @loop.inspect)
  end

  test "publishes supervisor_late at a late check, and fails no node" do
    node(0)
    IO.select(nil, nil, nil, TIMEOUT * 1.5) # the supervisor is paused
    turn_until { @node_table.checks >= 1 }
    assert_equal [:supervisor_late], @events.map(&:first)
    assert_empty @failed_nodes
    turn_until { @failed_nodes.any? }
    assert_equal [[0, :hung, 0]], @failed_nodes
  end

  test "publishes each unhealthy report, and fails a node at its third" do
    node = node(0)
    3.times do |times|
      beat_once(node)
      @liveness_monitor.report_unhealthy(node, "no database", node.ready_at + (times * TIMEOUT / 8))
    end
    assert_equal [[0, :repeated, nil]], @failed_nodes
    assert_equal [1, 2, 3], @events.map { |_, facts| facts[:reports] }
    @liveness_monitor.report_unhealthy(node, "no database")
    assert_equal 3, @events.size
  end

  test "clears the reports of a node that is healthy again" do
    node = node(0)
    2.times { @liveness_monitor.report_unhealthy(node, "no database") }
    @liveness_monitor.report_healthy(node)
    @liveness_monitor.report_healthy(node)
    assert_equal %i[node_unhealthy node_unhealthy node_healthy], @events.map(&:first)
    refute_predicate node.unhealthy_reports, :any?
  end

  test "an error at a hung node ends no check: it and others are found in the next one" do
    @fail_once = true
    nodes = [node(0), node(1)]
    turn_until { @failed_nodes.size == nodes.size }
    assert_equal [[[0, :hung, 0], [1, :hung, 0]], 1], [@failed_nodes.sort, @errors]
  end

  test "each work has its own timeout, or none" do
    @node_table = NodeTable.new([], 0)
    @liveness_monitor = liveness_monitor({ "liveness_timeout" => nil },
                                         { "liveness_timeout" => 60 })
    nodes = [node(0, 0), node(1, 1), node(2)]
    turn_until { @failed_nodes.any? }
    turn_until { @node_table.checks >= 6 }
    assert_equal [[2, :hung, 0]], @failed_nodes
    3.times do |times|
      @liveness_monitor.report_unhealthy(nodes[0], "ill", nodes[0].ready_at + (times * TIMEOUT / 8))
    end
    assert_equal [0, :repeated, nil], @failed_nodes.last
  end

  test "fails no node that has ended" do
    node = node(0)
    node.lost = true
    turn_until { @node_table.checks >= 1 }
    assert_empty @failed_nodes
  end

  private

  # works: the options of each.
  def liveness_monitor(*works)
    tasks = works.map { |options| { "options" => options } }
    @config = Swarm::Definition::Config.new("s", { "liveness_timeout" => TIMEOUT }, tasks:)
    scoreboard = Swarm::IPC::Scoreboard::Reader.new(@page, @layout)
    events = Skep::Swarm::Runtime::EventBus.new
    events.subscribe { |event| @events << [event.name, event.facts] }
    Swarm::Health::LivenessMonitor.new(@config, loop: @loop, scoreboard:, node_table: @node_table,
                                                events:) do |node, failure, status|
      fail_once, @fail_once = @fail_once, false
      raise "a bug" if fail_once

      @failed_nodes << [node.page_index, failure, status&.thread]
    end
  end

  # Adds a node that is ready. work: its number; nil: it has the swarm's options.
  def node(page_index, work = nil)
    options = work ? @config.works[work] : @config
    Node.new(page_index, Skep::OS.now, Swarm::Health::UnhealthyReports.new, options).tap do |node|
      @node_table.all << node
    end
  end

  def beat_once(node)
    Swarm::IPC::Scoreboard::Heartbeat.new(@page, @layout.of(node.page_index)).beat
  end

  # Beats from now on, as a working thread does.
  def beat(node)
    beat_once(node)
    @loop.after(TIMEOUT / 5) { beat(node) }
  end

  def turn_until
    deadline = Skep::OS.now + 20
    until yield
      flunk "not within 20 s" if Skep::OS.now > deadline
      @loop.turn(1)
    end
  end
end
