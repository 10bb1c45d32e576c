# frozen_string_literal: true

require "test_helper"
require "skep/os"

class LoopTimersTest < Skep::TestCase
  def setup
    @loop = Skep::OS::EventLoop.new
    @calls = []
  end

  def teardown
    @loop.close
  end

  test "runs timers by deadline, not in the order in which they were added" do
    now = Skep::OS.now
    @loop.at(now + 0.02) { @calls << :second }
    @loop.at(now + 0.01) { @calls << :first }
    @loop.at(now + 0.03) { @loop.stop }
    @loop.run
    assert_equal %i[first second], @calls
  end

  test "runs timers of one deadline in the order in which they were added" do
    deadline = Skep::OS.now
    5.times { |n| @loop.at(deadline) { @calls << n } }
    @loop.turn
    assert_equal [0, 1, 2, 3, 4], @calls
  end

  test "doesn't run a timer before its deadline" do
    timer = @loop.after(0.02) { @calls << Skep::OS.now }
    @loop.turn until @calls.any?
    assert_operator @calls.first, :>=, timer.deadline
    refute_predicate timer, :pending?
  end

  test "runs a timer up to `early` seconds ahead if another timer is due" do
    ran = []
    @loop.after(60, early: 30) { ran << :not_yet }
    @loop.after(60, early: 60) { ran << :early }
    @loop.after(59, early: 59) { ran << :before_it }
    @loop.after(0) { ran << :due }
    @loop.turn(5)
    assert_equal %i[due before_it early], ran
    assert_match(/timers=1/, @loop.inspect)
  end

  test "runs an early: timer at its deadline if no other is due, and once" do
    timer = @loop.after(0.05, early: 0.04) { @calls << Skep::OS.now }
    @loop.turn
    assert_operator @calls.first, :>=, timer.deadline
    @loop.turn(0.1)
    assert_equal 1, @calls.size
  end

  test "runs an early: timer that was added in a turn in the next turn" do
    ran = []
    again = -> { @loop.after(60, early: 60) { ran << again.call } }
    again.call
    2.times { |index| @loop.turn(0).then { assert_equal index + 1, ran.size } }
  end

  test "doesn't run a timer that was cancelled earlier in the same turn" do
    later = nil
    @loop.at(1) { later.cancel }
    later = @loop.at(2) { @calls << :later }
    @loop.turn
    assert_empty @calls
    refute_predicate later, :pending?
  end

  test "isn't woken by a cancelled timer" do
    @loop.after(0.01) { @calls << :cancelled }.cancel
    started = Skep::OS.now
    @loop.turn(0.05)
    assert_operator Skep::OS.now - started, :>=, 0.05
    assert_empty @calls
  end

  test "runs a timer that a block adds in the next turn" do
    @loop.after(0) { @loop.after(0) { @calls << :made } }
    @loop.turn(1)
    assert_empty @calls
    @loop.turn(1)
    assert_equal [:made], @calls
  end
end
