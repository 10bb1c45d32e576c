# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Uses a real event loop, and nodes that only record the calls.
class HungNodeKillerTest < Skep::TestCase
  Swarm = Skep::Swarm
  Options = Struct.new(:liveness_timeout, :kill_timeout)
  THREADS = [{ "name" => "main", "backtrace" => ["a.rb:1"] }].freeze
  private_constant :Swarm, :Options, :THREADS

  # The methods of a node that HungNodeKiller calls.
  class FakeNode
    attr_accessor :pid, :diagnosis
    attr_reader :page_index, :slot, :watches, :unhealthy_reports, :calls

    def initialize
      @page_index = 0
      @slot = Struct.new(:last_hang).new
      @watches = []
      @unhealthy_reports = Swarm::Health::UnhealthyReports.new
      @calls = []
    end

    def channel = self
    def options = Options.new(0.3, 0.2)
    def event_facts = {}
    def post(type, *) = @calls << type
    def terminated? = @calls.include?(:TERM)
    def terminate(reason) = @calls.push(reason, :TERM)
    def kill(_reason, signal = :KILL) = @calls << signal
  end

  def setup
    super
    @layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 2)
    @page = Skep::OS::SharedPage.create(@layout.total)
    @loop = Skep::OS::EventLoop.new
    @published = []
    @node = FakeNode.new
  end

  def teardown
    @loop.close
    @page.close
    super
  end

  test "publishes node_hung with the thread, its item and the backtraces, then sends TERM" do
    Swarm::IPC::Scoreboard::Heartbeat.new(@page, @layout.of(0, thread: 2)).in_flight("a job")
    hung_node_killer.start(@node, :hung, status(2))
    assert_equal ["backtraces"], @node.calls
    hung_node_killer.add_backtraces(@node, THREADS)
    name, facts = @published.first
    assert_equal [:node_hung, 2, ["a job"], THREADS],
                 [name, *facts.values_at(:thread, :in_flight, :threads)]
    assert_match(/node.busy/, facts[:hint])
    assert_equal ["backtraces", "hung", :TERM], @node.calls
    turn_until { @node.calls.include?(:KILL) }
    assert_equal ["backtraces", "hung", :TERM, :KILL], @node.calls
  end

  test "lists the hung thread before the others" do
    names = ["main", "skep.mail.worker.12", "skep.mail.worker.2"]
    threads = names.map { |name| { "name" => name, "backtrace" => [] } }
    hung_node_killer.start(@node, :hung, status(2))
    hung_node_killer.add_backtraces(@node, threads)
    assert_equal names.values_at(2, 0, 1), @published.first.last[:threads].map { |row| row["name"] }
  end

  test "reports the state of the hung thread, and of the main thread if it has no backtrace" do
    @node.pid = 41
    named = { "name" => "skep.mail.worker.2", "tid" => 42, "backtrace" => [] }
    tasks = { 41 => "sleeping", 42 => "running" }.map do |tid, state|
      Skep::OS::ProcessState::ThreadState.new(tid:, state:)
    end
    state = Skep::OS::ProcessState.new(tasks, threads: 2, rss: 1, tracer: nil)
    [[named], [{ **named, "tid" => nil }], [{ **named, "name" => "skep.mail.worker.12" }],
     []].each do |threads|
      Skep::OS::ProcessState.stub(:of, state) { hung_node_killer.start(@node, :hung, status(2)) }
      hung_node_killer.add_backtraces(@node, threads)
    end
    assert_equal %w[running sleeping sleeping sleeping],
                 (@published.map { |_, facts| facts[:state] })
  end

  test "sends TERM if the backtraces are late, and publishes them as node_backtraces" do
    hung_node_killer.start(@node, :hung, status(0))
    turn_until { @node.terminated? }
    refute @published.first.last.key?(:threads)
    hung_node_killer.add_backtraces(@node, THREADS)
    assert_equal [:node_backtraces, { threads: THREADS }], @published.last
    assert_equal THREADS, @node.slot.last_hang[:threads]
  end

  test "keeps a diagnosis without secrets, so that a status needn't look for them" do
    secret = [{ "name" => "main", "backtrace" => ["redis://u:hunter2@host"] }]
    Swarm::IPC::Scoreboard::Heartbeat.new(@page, @layout.of(0)).in_flight("password=hunter2")
    hung_node_killer.start(@node, :hung, status(0))
    hung_node_killer.add_backtraces(@node, secret)
    known = [@node.slot.last_hang]
    hung_node_killer.add_backtraces(@node, secret) # late ones, too
    assert_equal [false, ["password=[secret]"]],
                 [[*known, @published.last].to_s.include?("hunter2"), known[0][:in_flight]]
    assert_equal [{ "name" => "main", "backtrace" => ["redis://u:[secret]@host"] }],
                 known[0][:threads]
  end

  test "publishes what is known of a node that dies before its backtraces arrive" do
    hung_node_killer.start(@node, :hung, status(0))
    hung_node_killer.publish(@node)
    assert_equal [[:node_hung], nil], [@published.map(&:first), @node.diagnosis]
    refute_predicate @node, :terminated?
  end

  test "ignores backtraces of a node that wasn't asked for them" do
    hung_node_killer.add_backtraces(@node, THREADS)
    assert_empty @published
  end

  test "publishes node_unhealthy with the verdict and the reported reason" do
    @node.unhealthy_reports.add("no database", 1.0)
    hung_node_killer.start(@node, :lasting, nil)
    hung_node_killer.add_backtraces(@node, THREADS)
    name, facts = @published.first
    assert_equal [:node_unhealthy, :lasting, "no database"],
                 [name, *facts.values_at(:verdict, :error)]
    assert_equal "unhealthy", @node.slot.last_hang[:reason]
    assert_equal ["unhealthy", :TERM], @node.calls.last(2)
  end

  private

  def hung_node_killer
    scoreboard = Swarm::IPC::Scoreboard::Reader.new(@page, @layout)
    @hung_node_killer ||= Swarm::Health::HungNodeKiller.new(loop: @loop, scoreboard:, events:)
  end

  def events
    @events ||= Skep::Swarm::Runtime::EventBus.new.tap do |bus|
      bus.subscribe { |event| @published << [event.name, event.facts] }
    end
  end

  def status(thread)
    Swarm::IPC::Scoreboard::ThreadStatus.new(@layout.of(0, thread:), thread,
                                                    Skep::OS.now - 0.3, 0.0)
  end

  def turn_until
    deadline = Skep::OS.now + 20
    until yield
      flunk "not within 20 s" if Skep::OS.now > deadline
      @loop.turn(1)
    end
  end
end
