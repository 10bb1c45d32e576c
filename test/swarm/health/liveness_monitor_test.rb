# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# With a real loop and a real page, and no process.
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
    @loop = Skep::OS::EventLoop.new
    @told = []
    @checks = 0
    @failed_nodes = []
    @liveness_monitor = liveness_monitor
  end

  def teardown
    @loop.close
    @page.close
    super
  end

  test "takes who is silent for hung, once" do
    @liveness_monitor.watch(node(0))
    turn_until { @failed_nodes.any? }
    assert_equal [[0, :hung, 0]], @failed_nodes
    assert_match(/timers=0/, @loop.inspect)
  end

  test "finds the thread that is stuck while its node beats" do
    node = node(0)
    @liveness_monitor.watch(node)
    Swarm::IPC::Scoreboard::Heartbeat.new(@page, @layout.of(0, thread: 1)).hold("a job")
    beat(node)
    turn_until { @failed_nodes.any? }
    assert_equal [[0, :hung, 1]], @failed_nodes
  end

  test "leaves alone who beats, and looks seldom" do
    node = node(0)
    @liveness_monitor.watch(node)
    beat(node)
    turn_until { @checks == 5 }
    assert_empty @failed_nodes
  end

  test "has one timer for a thousand nodes, and looks at all of them at once" do
    nodes = Array.new(1_000) { |page_index| node(page_index) }
    nodes.each { |node| @liveness_monitor.watch(node) }
    nodes.each { |node| beat_once(node) }
    assert_match(/timers=1/, @loop.inspect)
    turn_until { @checks == 1 }
    assert_match(/timers=1/, @loop.inspect)
  end

  # A check may be half a minute away.
  test "keeps none of a thousand nodes that ended before the next check" do
    1_000.times do |page_index|
      node = node(page_index)
      @liveness_monitor.watch(node)
      node.lost = true
    end
    assert_operator @liveness_monitor.instance_variable_get(:@watched).size, :<, 50
    assert_equal 0, @checks
  end

  test "judges nobody at a look that comes late" do
    @liveness_monitor.watch(node(0))
    IO.select(nil, nil, nil, TIMEOUT * 1.5) # away
    turn_until { @checks == 1 }
    assert_equal [:supervisor_late], @told.map(&:first)
    assert_empty @failed_nodes
    turn_until { @failed_nodes.any? }
    assert_equal [[0, :hung, 0]], @failed_nodes
  end

  test "reports an unhealthy node, and one that repeats its report fails" do
    node = node(0)
    @liveness_monitor.watch(node)
    3.times do |times|
      beat_once(node)
      @liveness_monitor.report_unhealthy(node, "no database", node.ready_at + (times * TIMEOUT / 8))
    end
    assert_equal [[0, :repeated, nil]], @failed_nodes
    assert_equal [1, 2, 3], @told.map { |_, facts| facts[:reports] }
    @liveness_monitor.report_unhealthy(node, "no database")
    assert_equal 3, @told.size
  end

  test "clears the reports of a node that is healthy again" do
    node = node(0)
    @liveness_monitor.watch(node)
    2.times { @liveness_monitor.report_unhealthy(node, "no database") }
    @liveness_monitor.report_healthy(node)
    @liveness_monitor.report_healthy(node)
    assert_equal %i[node_unhealthy node_unhealthy node_healthy], @told.map(&:first)
    refute_predicate node.unhealthy_reports, :any?
  end

  test "watches nobody who has ended" do
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
    events.subscribe { |event| @told << [event.name, event.facts] }
    events.subscribe(:liveness_checked) { @checks += 1 }
    Swarm::Health::LivenessMonitor.new(config, loop: @loop, scoreboard:,
                                               events:) do |node, failure, status|
      @failed_nodes << [node.page_index, failure, status&.thread]
    end
  end

  def node(page_index) = Node.new(page_index, Skep::OS.now, Swarm::Health::UnhealthyReports.new)

  def beat_once(node)
    Swarm::IPC::Scoreboard::Heartbeat.new(@page, @layout.of(node.page_index)).beat
  end

  # From now on, as a thread that is at work would.
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
