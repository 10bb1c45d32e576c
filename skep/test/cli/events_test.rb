# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "skep/cli"

# `skep events` with the control socket of a supervisor without nodes.
class EventsTest < Skep::TestCase
  Supervisor = Struct.new(:loop, :config) do
    def abstract_lock = nil
    def events = @events ||= Skep::Swarm::Runtime::EventBus.new
  end
  private_constant :Supervisor

  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "a.sock")
    config = Skep::Swarm::Definition::Config.new("a", { control: @path }, tasks: [{}])
    @loop = Skep::OS::EventLoop.new
    @server = Skep::Control::Server.new
    @server.configured(Supervisor.new(@loop, config))
    @server.event("node_ready", :info, { node: 0 })
    @server.event("node_died", :warn, { node: 0, error: "no \e[2Jway", backtrace: ["a.rb:1"] })
    @out, @err = StringIO.new, StringIO.new
  end

  def teardown
    @server.on_close
    @loop.close
    FileUtils.remove_entry(@directory)
  end

  test "prints the events as the text log does, and ends" do
    assert_equal 0, events
    first, second, third = @out.string.lines
    assert_match(/\A\d{4}-\d\d-\d\dT\S+Z INFO  node_ready swarm=a node=0\n\z/, first)
    assert_match(/Z WARN  node_died swarm=a node=0 error="no \\u001b\[2Jway"\n\z/, second)
    assert_equal ["    a.rb:1\n", ""], [third, @err.string]
  end

  test "with a level it prints those of that level and above" do
    assert_equal 0, events("--level", "warn", "--json")
    assert_equal [["node_died", 2]], printed.map { |event| event.values_at("event", "seq") }
    events("--level", "error")
    assert_equal 1, @out.string.lines.size
  end

  test "with a time it prints those since then" do
    { "2h" => 2, "0.0s" => 0, "90m" => 2 }.each do |ago, count|
      @out.string = +""
      events("--since", ago, "--json")
      assert_equal count, printed.size, ago
    end
  end

  test "says how many events are no longer kept, unless those are from before the time" do
    1001.times { @server.event("many", :info, {}) }
    events
    assert_equal "skep: 3 events missing\n", @err.string
    @err.string = +""
    events("--since", "0s")
    assert_equal "", @err.string
  end

  test "follows until the swarm ends" do
    code = events("--follow", "--json") do
      @server.event("late", :debug, {})
      @server.event("swarm_stopped", :info, {})
      @server.on_close
    end
    assert_equal [0, %w[node_ready node_died swarm_stopped]],
                 [code, printed.map { |event| event["event"] }]
  end

  test "follows those of level debug, too, if they are asked for" do
    code = events("--follow", "--level", "debug", "--json") do
      @server.event("late", :debug, {})
      @server.on_close
    end
    assert_equal [0, %w[node_ready node_died late]],
                 [code, printed.map { |event| event["event"] }]
  end

  test "follows until INT" do
    code = events("--follow") { @running.raise(Interrupt) }
    assert_equal [0, 3], [code, @out.string.lines.size]
  end

  test "continues where it was after it has read too slowly" do
    held = Queue.new
    @out.define_singleton_method(:puts) do |*lines|
      held.pop if lines.first.include?("\"slow\"")
      super(*lines)
    end
    code = events("--follow", "--json") do
      @server.event("slow", :info, {})
      900.times { |number| @server.event("many", :info, { number:, text: "x" * 1900 }) }
      held << :go
      turn_until { printed.size == 903 }
      @server.on_close
    end
    assert_equal [0, *1..903], [code, *printed.map { |event| event["seq"] }]
    assert_equal "", @err.string
  end

  private

  # Runs the command in a thread, as the loop must turn meanwhile. The block is called once the
  # command has printed the first two events.
  def events(*words)
    @running = Thread.new do
      Skep::CLI.start(["events", "--control", @path, *words], out: @out, err: @err)
    end
    @running.report_on_exception = false
    if block_given?
      turn_until { @out.string.include?("node_died") }
      yield
    end
    turn_until { !@running.alive? }
    @running.value
  end

  def turn_until
    by = deadline(30)
    @loop.turn(0.01) until yield || seconds_until(by).zero?
  end

  def printed = @out.string.lines.map { |line| JSON.parse(line) }
end
