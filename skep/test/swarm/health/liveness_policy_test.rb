# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class LivenessPolicyTest < Skep::TestCase
  LivenessPolicy = Skep::Swarm::Health::LivenessPolicy
  private_constant :LivenessPolicy

  test "returns the seconds until the thread's deadline" do
    assert_in_delta 10.0, decide([0, 100.0], now: 120.0)
  end

  test "returns the status of a thread past its deadline" do
    assert_equal 0, decide([0, 100.0], now: 130.0).thread
  end

  test "extends the deadline to the end of a busy declaration" do
    assert_in_delta 50.0, decide([0, 100.0, 200.0], now: 150.0)
    assert_equal 0, decide([0, 100.0, 200.0], now: 200.0).thread
  end

  test "a busy declaration never shortens the timeout" do
    assert_in_delta 20.0, decide([0, 100.0, 105.0], now: 110.0)
  end

  test "returns the status of the hung thread even if all others beat" do
    assert_equal 2, decide([0, 129.0], [1, 128.0], [2, 99.0], now: 130.0).thread
  end

  test "a busy thread extends no other thread's deadline" do
    assert_equal 1, decide([0, 100.0, 500.0], [1, 100.0], now: 130.0).thread
  end

  test "returns the seconds until the first of several threads is overdue" do
    assert_in_delta 5.0, decide([0, 120.0], [1, 105.0], [2, 100.0, 190.0], now: 130.0)
  end

  test "a thread is slow after half of the timeout, or once what it has declared is over" do
    slow = ->(status, now) { liveness.seconds_to_slow(status, now) }
    status = decide([0, 100.0], now: 130.0)
    assert_equal [5.0, 0.0], [110.0, 115.0].map { |now| slow.call(status, now) }
    busy = decide([0, 100.0, 200.0], now: 200.0)
    assert_equal [80.0, -1.0], [120.0, 201.0].map { |now| slow.call(busy, now) }
  end

  test "overdue returns the seconds since the thread's deadline" do
    status = decide([0, 100.0, 120.0], now: 131.5)
    assert_in_delta 1.5, liveness.overdue(status, 131.5)
  end

  test "gives an overdue node a longer grace period the later the check comes" do
    grace = [0.0, 0.1, 2.0, 60.0].map { |late| liveness.grace(late) }
    assert_equal [0.02, 1.0, 20.0, 30.0], grace
  end

  test "paused? returns true for a check late by a tenth of the timeout" do
    assert_equal [false, true], [2.9, 3.0].map { |late| liveness.paused?(late) }
  end

  test "considers no heartbeat older than the end of a pause" do
    pause(100.0, 160.0)
    assert_in_delta 30.0, decide([0, 90.0], now: 160.0)
    assert_in_delta 40.0, decide([0, 170.0], now: 160.0)
    assert_in_delta 160.0, liveness.since(90.0)
  end

  test "extends a busy declaration by the length of a pause" do
    pause(100.0, 160.0, [0, 90.0, 150.0])
    assert_in_delta 50.0, decide([0, 90.0, 150.0], now: 160.0)
  end

  test "extends no busy declaration that ended before the pause, or is made after it" do
    pause(100.0, 160.0, [0, 90.0, 95.0])
    assert_in_delta 30.0, decide([0, 90.0, 95.0], now: 160.0)
    pause(100.0, 160.0, [0, 90.0, 150.0])
    assert_in_delta 340.0, decide([0, 90.0, 500.0], now: 160.0)
  end

  test "extends a busy declaration by the lengths of two pauses" do
    pause(100.0, 160.0, [0, 90.0, 150.0])
    pause(170.0, 270.0, [0, 90.0, 150.0])
    assert_in_delta 40.0, decide([0, 90.0, 150.0], now: 270.0)
  end

  private

  def liveness = @liveness ||= LivenessPolicy.new(timeout: 30.0)
  def decide(*threads, now:) = liveness.decide(statuses(threads), now)

  def pause(from, back_at, *threads)
    liveness.extend_deadlines(from, back_at, statuses(threads))
  end

  # Each: thread, at, busy until.
  def statuses(threads)
    threads.map do |thread, at, busy = 0.0|
      Skep::Swarm::IPC::Scoreboard::ThreadStatus.new(10 + thread, thread, at, busy)
    end
  end
end
