# frozen_string_literal: true

require "test_helper"
require "skep/guest"

class GuestTest < Skep::TestCase
  Guest = Skep::Guest
  # A server that notes what is asked of it, and a node that ends after some looks.
  Server = Class.new(Guest) do
    attr_accessor :trouble, :resumable
    attr_reader :calls

    def initialize(...)
      super
      @calls = []
    end

    def work_name = "server"
    def start(node, configure) = calls << [:start, configure.call(node)]
    def began = calls << :began
    def joined(_node) = calls << :joined
    def look(_node) = calls << :look
    def problem = trouble&.shift
    def stop(node) = calls << [:stop, stop_time(node)]

    def quieten
      calls << :quieten
      !resumable
    end
  end
  private_constant :Guest, :Server

  def setup
    super
    layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    @page = Skep::OS::SharedPage.create(layout.total)
    @reported = []
    report = ->(type, facts) { @reported << [type, facts] }
    @node = Skep::Swarm::Node.new(id: 0, swarm: "a", mold: 0, page: @page, layout:,
                                  stop_timeout: 30, report:)
    @server = Server.new(threads: 1) { :configured }
  end

  def teardown
    @node.leave
    @page.close
    super
  end

  test "starts the server, is ready, and stops it in the time that is left" do
    after(2) { @node.__stop }
    run_server
    assert_equal [[:start, :configured], :began, :joined, :look, :look], @server.calls.first(5)
    stop, seconds = @server.calls.last
    assert_equal :stop, stop
    assert_in_delta 25, seconds, 5
    assert_includes types, "ready"
  end

  test "isn't ready if the server can't start" do
    @server.define_singleton_method(:start) { |*| raise Guest::Unavailable, "no Redis" }
    error = assert_raises(Guest::Unavailable) { run_server }
    assert_equal Skep::ExitCode::UNAVAILABLE, error.exit_code
    refute_includes types, "ready"
  end

  test "reports a problem, and its end" do
    @server.trouble = ["a thread is dead", nil]
    after(3) { @node.__stop }
    run_server
    assert_equal %w[unhealthy healthy], types & %w[unhealthy healthy]
  end

  test "ends after a quiet that the server can't end, so that another node takes its place" do
    after(1) { @node.__quiet }
    after(3) { @node.__resume }
    run_server
    assert_equal 1, @server.calls.count(:quieten)
    refute_predicate @node, :stopping?
    assert_predicate @node, :__ended_for_quiet?
    assert_equal [:stop, 25.0], @server.calls.last
  end

  test "goes on after a quiet that has no effect on the server" do
    @server.resumable = true
    after(1) { @node.__quiet }
    after(2) { @node.__resume }
    after(4) { @node.__stop }
    run_server
    assert_predicate @node, :stopping?
  end

  test "doesn't start the server as long as the swarm is quiet" do
    @node.__quiet
    after(1) { assert_equal [[], ["ready"]], [@server.calls, types] } # else boot_timeout ends it
    after(2) { @node.__resume }
    after(4) { @node.__stop }
    run_server
    refute_includes @server.calls, :quieten
    assert_equal [:start, :configured], @server.calls.first
  end

  test "doesn't start the server if the node is to stop while the swarm is quiet" do
    @node.__quiet
    after(1) { @node.__stop }
    run_server
    assert_empty @server.calls
  end

  test "starts a server in a quiet swarm on which that has no effect" do
    @server.define_singleton_method(:starts_in_quiet?) { true }
    @server.resumable = true
    @node.__quiet
    after(2) { @node.__stop }
    run_server
    assert_equal [[:start, :configured], :began, :joined, :look, :quieten], @server.calls.first(5)
  end

  test "is busy while the server stops, also without a stop of the node" do
    times = []
    @node.define_singleton_method(:busy) do |**time, &work|
      times << time[:for]
      work.call
    end
    after(1) { @node.__quiet }
    after(3) { @node.__resume }
    run_server
    assert_equal [30.0], times
  end

  test "a server has all but five seconds of the stop, or a quarter of a short one" do
    times = { [nil, 8] => 3.0, [nil, 4] => 1.0, [6.0, 30] => 1.5, [29.0, 30] => 24.0,
              [nil, nil] => nil }
    node = Struct.new(:time_left, :stop_timeout)
    assert_equal(times, times.to_h do |given, _|
      [given, @server.__send__(:stop_time, node.new(*given))]
    end)
  end

  test "refuses threads and longest that are no numbers, at the call" do
    [0, "5", 1.5, nil].each do |threads|
      error = assert_raises(Skep::Swarm::Definition::InvalidDescription) { Server.new(threads:) }
      assert_equal "threads must be 1 or more (got #{threads.inspect})", error.message
    end
    [0, "5", Float::INFINITY, 1i].each do |longest|
      error = assert_raises(Skep::Swarm::Definition::InvalidDescription) do
        @server.__send__(:seconds, longest)
      end
      assert_includes error.message, longest.inspect
    end
    assert_nil @server.__send__(:seconds, nil)
  end

  test "is a source of work that needs no block" do
    swarm = Skep.swarm("a") { |one| one.work(Server.new(threads: 3), nodes: 2) }
    plain = swarm.tasks.first.to_plain
    assert_empty plain["errors"]
    assert_equal 3, plain["threads"]
    assert_equal({ kind: "server", threads: 3 }, Server.new(threads: 3).facts)
  end

  test "a gem that isn't there, or is too old, is one sentence with what to add to the Gemfile" do
    error = assert_raises(Guest::WrongGem) { Guest.needs("no_such_server", ">= 2.0", "< 4") }
    assert_equal "skep/no_such_server needs the gem no_such_server, >= 2.0 and < 4, and finds " \
                 "none: add `gem \"no_such_server\", \">= 2.0\", \"< 4\"` to the Gemfile",
                 error.message
    assert_equal Skep::ExitCode::CONFIGURATION, error.exit_code
    error = assert_raises(Guest::WrongGem) { Guest.needs("rake", ">= 999") }
    assert_match(/ and finds \d+\.\S+: add /, error.message)
    assert_nil Guest.needs("rake", ">= 5")
  end

  private

  # Calls the block at that look of the main thread, instead of a wait.
  def after(look, &block)
    @after ||= {}
    @after[look] = block
  end

  def run_server
    looks, after = 0, @after
    @node.define_singleton_method(:wait) { |_seconds| after[looks += 1]&.call }
    @server.run(@node, @server.handler)
  end

  def types = @reported.map(&:first)
end
