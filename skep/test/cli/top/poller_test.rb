# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/cli"
require "skep/cli/top"

# What `skep top` shows of the past, with the control socket of a supervisor without nodes.
class TopPollerTest < Skep::TestCase
  Supervisor = Struct.new(:loop, :config) do
    def abstract_lock = nil
    def events = @events ||= Skep::Swarm::Runtime::EventBus.new
    def snapshot = { name: "a", pid: Process.pid, state: "running", uptime: 1, nodes: [] }
  end

  # Keeps what an App would show.
  class Listener
    attr_reader :past, :live

    def initialize
      @past, @live = [], []
    end

    def past_arrived(events) = @past.concat(events)
    def events_arrived(events) = @live.concat(events)
    def status_changed(_status, _local) = nil
    def failed(_sentence) = nil
    def notice(_sentence) = nil
  end
  private_constant :Supervisor, :Listener

  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "a.sock")
    @loop = Skep::OS::EventLoop.new
    @server = serve
    @listener = Listener.new
    @poller = Skep::CLI::Top::Poller.new(@path, @loop, @listener)
  end

  def teardown
    @poller.close
    @server.on_close
    @loop.close
    FileUtils.remove_entry(@directory)
  end

  test "it begins with what happened before, and has nothing twice" do
    @server.event("before", :info, {})
    @poller.start
    turn_until { @listener.past.any? }
    @server.event("after", :info, {})
    turn_until { @listener.live.any? }
    assert_equal [%w[before], %w[after]], [names(@listener.past), names(@listener.live)]
  end

  test "after a restart of the supervisor it has all events of the new one, behind a gap" do
    @server.event("first", :info, {})
    @poller.start
    turn_until { @listener.past.any? }
    @listener.past.clear
    @server.on_close
    @server = serve
    @server.event("second", :info, {})
    turn_until { @listener.past.any? }
    gap, event = @listener.past
    assert_instance_of Skep::Control::EventGap, gap
    assert_equal "second", event["event"]
  end

  private

  def serve
    config = Skep::Swarm::Definition::Config.new("a", { control: @path }, tasks: [{}])
    Skep::Control::Server.new.tap { |server| server.configured(Supervisor.new(@loop, config)) }
  end

  def turn_until
    by = deadline(30)
    @loop.turn(0.1) until yield || seconds_until(by).zero?
  end

  def names(events) = events.map { |event| event["event"] }
end
