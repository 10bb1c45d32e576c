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
    def dump(_state_file) = { "seen" => calls.size }
    def on_resume(_supervisor, kept, _state_file) = calls << [:on_resume, kept]
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
    @observers = Supervisor::Observers.new([Failing.new, @recorder])
  end

  test "an observer that fails is reported on stderr, and the others get the event" do
    _, err = capture_io { @observers.event("node_died", :warn, { node: 0 }) }
    assert_equal [["node_died", :warn, { node: 0 }]], @recorder.calls
    assert_equal "skep: ObserversTest::Failing failed: IOError: closed stream\n", err
  end

  test "a guarded call reaches each observer" do
    _, err = capture_io { @observers.each_guarded(&:reopen) }
    assert_equal [[:reopen], 1], [@recorder.calls, err.lines.size]
  end

  test "an observer that can't be configured ends the boot" do
    error = assert_raises(Skep::Error) { @observers.configured(:supervisor) }
    assert_equal ["the address is in use", []], [error.message, @recorder.calls]
  end

  test "after an upgrade each observer gets what the observer of its class kept" do
    @recorder.reopen
    kept = JSON.parse(JSON.generate(@observers.dump(nil)))
    assert_equal [["ObserversTest::Failing", nil], ["ObserversTest::Recorder", { "seen" => 1 }]],
                 kept.to_a
    observer = Recorder.new
    Supervisor::Observers.new([observer]).on_resume(:supervisor, { "observers" => kept })
    assert_equal [[:on_resume, { "seen" => 1 }]], observer.calls
  end

  test "an observer that keeps nothing is configured again after an upgrade" do
    observer = Class.new(Supervisor::Observer) do
      attr_reader :supervisor

      def configured(supervisor) = @supervisor = supervisor
    end.new
    Supervisor::Observers.new([observer]).on_resume(:next, { "observers" => {} })
    assert_equal :next, observer.supervisor
  end
end
