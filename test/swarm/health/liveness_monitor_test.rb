# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Uses a real event loop and page, but no processes.
class LivenessMonitorTest < Skep::TestCase
  Swarm = Skep::Swarm
  TIMEOUT = 0.5
  Node = Struct.new(:page_index, :ready_at, :unhealthy_reports) do
    attr_writer :lost

    def ready? = true
    def lost? = @lost ? true : false
    def event_facts = {}
  end
  private_constant :Swarm, :TIMEOUT, :Node

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
    @checks = 0
    @failed_nodes = []
    @liveness_monitor = liveness_monitor
  end

  def teardown
    @loop.close
    @page.close
    super
  end

  test "reports a node without heartbeats as hung, once" do
    @liveness_monitor.watch(node(0))
    turn_until { @failed_nodes.any? }
    assert_equal [[0, :hung, 0]], @failed_nodes
    assert_match(/timers=0/, @loop.inspect)
  end

  test "reports the hung thread of a node that still beats" do
    node = node(0)
    @liveness_monitor.watch(node)
    Swarm::IPC::Scoreboard::Heartbeat.new(@page, @layout.of(0, thread: 1)).in_flight("a job")
    beat(node)
    turn_until { @failed_nodes.any? }
    assert_equal [[0, :hung, 1]], @failed_nodes
  end

  test "reports no node that beats" do
    node = node(0)
    @liveness_monitor.watch(node)
    beat(node)
    turn_until { @checks == 5 }
    assert_empty @failed_nodes
  end

  test "checks a thousand nodes with one timer, all at the same time" do
    nodes = Array.new(1_000) { |page_index| node(page_index) }
    nodes.each { |node| @liveness_monitor.watch(node) }
    nodes.each { |node| beat_once(node) }
    assert_match(/timers=1/, @loop.inspect)
    turn_until { @checks == 1 }
    assert_match(/timers=1/, @loop.inspect)
  end

  # A check may be half a minute away.
  test "drops ended nodes before the next check if there are many" do
    1_000.times do |page_index|
      node = node(page_index)
      @liveness_monitor.watch(node)
      node.lost = true
    end
    assert_operator @liveness_monitor.instance_variable_get(:@watched).size, :<, 50
    assert_equal 0, @checks
  end

  test "publishes supervisor_late at a late check, and fails no node" do
    @liveness_monitor.watch(node(0))
    IO.select(nil, nil, nil, TIMEOUT * 1.5) # the supervisor is paused
    turn_until { @checks == 1 }
    assert_equal [:supervisor_late], @events.map(&:first)
    assert_empty @failed_nodes
    turn_until { @failed_nodes.any? }
    assert_equal [[0, :hung, 0]], @failed_nodes
  end

  test "publishes each unhealthy report, and fails a node at its third" do
    node = node(0)
    @liveness_monitor.watch(node)
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
    @liveness_monitor.watch(node)
    2.times { @liveness_monitor.report_unhealthy(node, "no database") }
    @liveness_monitor.report_healthy(node)
    @liveness_monitor.report_healthy(node)
    assert_equal %i[node_unhealthy node_unhealthy node_healthy], @events.map(&:first)
    refute_predicate node.unhealthy_reports, :any?
  end

  test "an error at a hung node ends no check: it and others are found in the next one" do
    @fail_once = true
    nodes = [node(0), node(1)].each { |one| @liveness_monitor.watch(one) }
    turn_until { @failed_nodes.size == nodes.size }
    assert_equal [[[0, :hung, 0], [1, :hung, 0]], 1], [@failed_nodes.sort, @errors]
  end

  test "fails no node that has ended" do
    node = node(0)
    @liveness_monitor.watch(node)
    node.lost = true
    turn_until { @checks == 1 }
    assert_empty @failed_nodes
  end

  private

  def liveness_monitor
    config = Struct.new(:liveness_timeout).new(TIMEOUT)
    scoreboard = Swarm::IPC::Scoreboard::Reader.new(@page, @layout)
    events = Skep::Swarm::Runtime::EventBus.new
    events.subscribe { |event| @events << [event.name, event.facts] }
    events.subscribe(:liveness_checked) { @checks += 1 }
    Swarm::Health::LivenessMonitor.new(config, loop: @loop, scoreboard:,
                                               events:) do |node, failure, status|
      fail_once, @fail_once = @fail_once, false
      raise "a bug" if fail_once

      @failed_nodes << [node.page_index, failure, status&.thread]
    end
  end

  def node(page_index) = Node.new(page_index, Skep::OS.now, Swarm::Health::UnhealthyReports.new)

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
