# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "support/nodeless_supervisor"
require "skep/cli"
require "skep/cli/top"

# What `skep top` shows of the past, and how often it asks, with the control socket of a supervisor
# without nodes.
class TopPollerTest < Skep::TestCase
  # Keeps what an App would show.
  class Listener
    attr_reader :past, :live, :statuses, :failures

    def initialize
      @past, @live, @statuses, @failures = [], [], [], []
    end

    def past_arrived(events) = @past.concat(events)
    def events_arrived(events) = @live.concat(events)
    def status_changed(status, _local) = @statuses << status
    def failed(sentence) = @failures << sentence
    def notice(_sentence) = nil
  end
  private_constant :Listener

  def setup
    @asked = 0
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

  test "a supervisor whose answer took half a second isn't asked again for ten, whatever happens" do
    with_slow_answers(0.5) do
      pass(1.0) { @listener.statuses.any? }
      @server.event("first", :info, {})
      pass(0) { @listener.live.any? }
      pass(9.9) { true }
      @server.event("second", :info, {})
      pass(0) { @listener.live.size == 2 }
      assert_equal [1, []], [@asked, @listener.failures]
      pass(0.2) { @listener.statuses.size == 2 }
    end
  end

  test "the end of a supervisor is seen at once, however long its last answer took" do
    with_slow_answers(0.5) do
      pass(1.0) { @listener.statuses.any? }
      @server.on_close
      3.times { @loop.turn(0) }
      pass(0) { @listener.failures.any? }
    end
  end

  private

  def serve
    config = Skep::Swarm::Definition::Config.new("a", { control: @path }, tasks: [{}])
    supervisor = NodelessSupervisor.new(@loop, config, -> { @asked += 1 })
    Skep::Control::Server.new.tap { |server| server.configured(supervisor) }
  end

  # Time passes during answers, and by `pass`, only.
  def with_slow_answers(seconds)
    @now = Skep::OS.now
    asked = lambda do
      @asked += 1
      @now += seconds
    end
    @server.instance_variable_get(:@supervisor).asked = asked
    Skep::OS.stub(:now, -> { @now }) do
      @poller.start
      turn_until { @listener.past }
      yield
    end
  end

  def pass(seconds, &)
    @now += seconds
    3.times { @loop.turn(0) }
    turn_until(&)
    assert yield
  end

  def turn_until
    by = deadline(30)
    @loop.turn(0.1) until yield || seconds_until(by).zero?
  end

  def names(events) = events.map { |event| event["event"] }
end
