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

  test "runs timers by deadline, not by the order they were made in" do
    now = Skep::OS.now
    @loop.at(now + 0.02) { @calls << :second }
    @loop.at(now + 0.01) { @calls << :first }
    @loop.at(now + 0.03) { @loop.stop }
    @loop.run
    assert_equal %i[first second], @calls
  end

  test "runs timers of one deadline in the order they were made in" do
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

  test "runs one early, but not too early, where it is awake for another" do
    said = []
    @loop.after(60, early: 30) { said << :not_yet }
    @loop.after(60, early: 60) { said << :early }
    @loop.after(59, early: 59) { said << :before_it }
    @loop.after(0) { said << :due }
    @loop.turn(5)
    assert_equal %i[due before_it early], said
    assert_match(/timers=1/, @loop.inspect)
  end

  test "isn't woken by one that may be early, and runs it once" do
    timer = @loop.after(0.05, early: 0.04) { @calls << Skep::OS.now }
    @loop.turn
    assert_operator @calls.first, :>=, timer.deadline
    @loop.turn(0.1)
    assert_equal 1, @calls.size
  end

  test "leaves for the next turn what may be early and was made in this one" do
    said = []
    again = -> { @loop.after(60, early: 60) { said << again.call } }
    again.call
    2.times { |index| @loop.turn(0).then { assert_equal index + 1, said.size } }
  end

  test "doesn't run what was cancelled earlier in the same turn" do
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

  test "keeps what a block makes for the next turn" do
    @loop.after(0) { @loop.after(0) { @calls << :made } }
    @loop.turn(1)
    assert_empty @calls
    @loop.turn(1)
    assert_equal [:made], @calls
  end
end
