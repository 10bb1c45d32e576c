# frozen_string_literal: true

require "test_helper"
require "skep/os"

class EventLoopTest < Skep::TestCase
  # A machine whose clock moves only in a poller's wait: to the wait's end, or to the time when
  # the process is continued.
  class Stopped < Skep::OS::Machine
    attr_reader :now
    attr_writer :wakes_at

    def initialize(now)
      super()
      @now = now
    end

    def poller = self

    def wait(seconds)
      @now = [@now + seconds, *@wakes_at].max
      @wakes_at = nil
      []
    end
  end
  private_constant :Stopped

  def setup
    @loop = Skep::OS::EventLoop.new
    @r, @w = IO.pipe
    @calls = []
  end

  def teardown
    [@loop, @r, @w].each(&:close)
  end

  test "runs an io's block when it is readable" do
    @loop.watch(@r) { |readable, writable| @calls << [readable, writable, @r.getc] }
    @w.write("x")
    @loop.turn(1)
    assert_equal [[true, false, "x"]], @calls
  end

  test "runs an io's block when it is writable, while write is true" do
    watch = @loop.watch(@w, write: true) { |_readable, writable| @calls << writable }
    @loop.turn(1)
    watch.write = false
    @loop.turn(0)
    watch.write = true
    @loop.turn(1)
    assert_equal [true, true], @calls
  end

  test "doesn't run the block of a readable io while read is false" do
    watch = @loop.watch(@r) { @calls << :read }
    @w.write("x")
    watch.read = false
    @loop.turn(0)
    assert_empty @calls
    watch.read = true
    @loop.turn(1)
    assert_equal [:read], @calls
  end

  test "doesn't run an io's block cancelled earlier in the same turn, though it was ready" do
    r, w = IO.pipe
    watches = []
    watches << @loop.watch(@r) { @calls << :first and watches.last.cancel }
    watches << @loop.watch(r) { @calls << :second and watches.first.cancel }
    [@w, w].each { |io| io.write("x") }
    @loop.turn(1)
    @loop.turn(0)
    assert_equal 1, @calls.uniq.size
    watches.each(&:cancel)
    [r, w].each(&:close)
  end

  test "cancel may be called twice, and after the run" do
    timer = @loop.at(1) { @calls << :run }
    @loop.turn
    2.times { assert_nil timer.cancel }
    watch = @loop.watch(@r) { @calls << :never }
    2.times { assert_nil watch.cancel }
    assert_predicate watch, :cancelled?
    watch.write = true
    assert_equal [:run], @calls
  end

  test "runs ios before timers" do
    @loop.at(1) { @calls << :timer }
    @loop.watch(@r) { @calls << :io }
    @w.write("x")
    @loop.turn
    assert_equal %i[io timer], @calls
  end

  test "turn raises a block's error, and runs the other blocks in the next turn" do
    @loop.at(1) { raise "a block's" }
    @loop.at(2) { @calls << :next }
    assert_raises(RuntimeError) { @loop.turn }
    @loop.turn
    assert_equal [:next], @calls
  end

  test "stops after the turn in progress" do
    @loop.at(1) { @loop.stop }
    @loop.at(2) { @calls << :same_turn }
    @loop.run
    assert_equal [:same_turn], @calls
  end

  test "run returns at once if stop was called before" do
    @loop.stop
    @loop.run
    @loop.after(0) { @calls << :second_run and @loop.stop }
    @loop.run
    assert_equal [:second_run], @calls
  end

  test "a deadline is later by the time in which the process was stopped" do
    machine = Stopped.new(10.0)
    Skep::OS.run_on(machine) do
      loop = Skep::OS::EventLoop.new
      loop.deadline(2.0) { @calls << machine.now }
      loop.after(1.0) { machine.wakes_at = 12.75 }
      3.times { loop.turn }
      assert_in_delta 0.75, loop.overslept # it was stopped from 11, but no timer was due before 12
      assert_equal [14.75], @calls
    end
  end

  test "a cancelled deadline doesn't run, and others are on time if nothing stops" do
    machine = Stopped.new(10.0)
    Skep::OS.run_on(machine) do
      loop = Skep::OS::EventLoop.new
      loop.deadline(2.0) { @calls << machine.now }
      loop.deadline(3.0) { @calls << :cancelled }.cancel
      loop.turn
      assert_equal [12.0, 0.0], [@calls.last, loop.overslept]
    end
  end

  test "runs a pidfd's block when the child has ended" do
    pidfd = Skep.pidfd(fork { exit!(4) })
    watch = @loop.watch(pidfd) { @calls << pidfd.wait.exitstatus and @loop.stop }
    @loop.run
    assert_equal [4], @calls
    watch.cancel
    pidfd.close
  end

  test "with a guard the other blocks run after an error in one" do
    errors = []
    loop = guarded_loop { |error, kind| errors << [error.message, kind] }
    other, writer = IO.pipe
    watch = loop.watch(@r) { raise(LoadError, "no file") }
    loop.watch(other) { @calls << other.getc }
    loop.after(0) { raise "a bug" }
    loop.after(0) { @calls << :timer }
    [@w, writer].each { |io| io.write("x") }
    loop.turn(1)
    assert_equal [["no file", "descriptor"], ["a bug", "timer"]], errors
    assert_equal ["x", :timer], @calls
    watch.cancel
  ensure
    [loop, other, writer].each(&:close)
  end

  test "a descriptor whose block fails is watched again, after a rest" do
    raised = 0
    loop = guarded_loop { raised += 1 }
    @w.close # a hangup is reported even to those that watch for nothing
    watch = loop.watch(@r) { raised < 2 ? raise("a bug") : loop.stop }
    began = Skep::OS.now
    loop.run
    assert_equal 2, raised
    assert_operator Skep::OS.now - began, :>=, 0.2
    watch.cancel
  ensure
    loop.close
  end

  test "a descriptor whose block fails may be cancelled and closed while it rests" do
    watch = nil
    loop = guarded_loop { [watch.cancel, @r.close] }
    watch = loop.watch(@r) { raise "a bug" }
    @w.write("x")
    2.times { loop.turn(0.2) }
    assert_equal ["#<Skep::OS::EventLoop ios=0 timers=0>", true], [loop.inspect, @r.closed?]
  ensure
    loop.close
  end

  test "inspect fits a line" do
    @loop.watch(@r) { nil }
    timer = @loop.after(1) { nil }
    assert_equal "#<Skep::OS::EventLoop ios=1 timers=1>", @loop.inspect
    assert_match(/deadline=[\d.]+>\z/, timer.inspect)
  end

  test "close removes the watches, and leaves the ios open" do
    watch = @loop.watch(@r) { nil }
    @loop.close
    assert_nil watch.cancel
    refute_predicate @r, :closed?
  end

  private

  # A guard that keeps errors from the loop, and passes each to the block.
  def guarded_loop
    guard = lambda do |kind, &block|
      block.call
      nil
    rescue StandardError, ScriptError => e
      yield e, kind
      e
    end
    Skep::OS::EventLoop.new(guard:)
  end
end
