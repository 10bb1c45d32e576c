# frozen_string_literal: true

require "test_helper"
require "stringio"
require "skep/swarm"

class ObserversTest < Skep::TestCase
  Supervisor = Skep::Swarm::Supervisor
  # Records the calls that it receives.
  class Recorder < Supervisor::Observer
    attr_reader :calls

    def initialize
      super
      @calls = []
    end

    def event(name, level, facts) = calls << [name, level, facts]
    def configured(supervisor) = calls << [:configured, supervisor]
    def reopen = calls << :reopen
  end

  # Fails at each call.
  class Failing < Supervisor::Observer
    def event(*) = raise(IOError, "closed stream")
    def configured(_supervisor) = raise(Skep::Error, "the address is in use")
    def reopen = raise(IOError, "closed stream")
  end
  private_constant :Supervisor, :Recorder, :Failing

  def setup
    super
    @recorder = Recorder.new
    launcher = Skep::Swarm::Molds::MoldLauncher::Exec.new("swarm.rb")
    @supervisor = Supervisor.new(launcher, observers: [Failing.new, @recorder])
    @events = @supervisor.events
  end

  test "an observer that fails is reported once for each event, and the others get the event" do
    _, err = capture_io { @events.publish(:node_died, level: :warn, node: 0) }
    # The observer fails at supervisor_error, too: that is printed only.
    assert_match(/\Askep: IOError: closed stream at .*observers_test.rb:\d+.*\n\z/, err)
    error, died = @recorder.calls
    assert_equal ["node_died", :warn, { node: 0 }], died
    assert_equal ["supervisor_error", :error, "observer ObserversTest::Failing", 1],
                 [*error.first(2), *error.last.values_at(:action, :count)]
  end

  test "a call reaches each observer" do
    capture_io { @supervisor.reopen }
    assert_includes @recorder.calls, :reopen
  end

  test "an observer that always fails fills no log and doesn't end the swarm" do
    capture_io { 100.times { @events.publish(:node_died) } }
    refute_predicate @supervisor, :stopping?
    errors = @recorder.calls.select { |name, *| name == "supervisor_error" }
    assert_equal 10, errors.size
  end

  test "an observer that can't be configured ends the boot" do
    error = assert_raises(Skep::Error) { @supervisor.send(:start_observers) }
    assert_equal ["the address is in use", []], [error.message, @recorder.calls]
  end
end
