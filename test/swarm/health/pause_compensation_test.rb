# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class PauseCompensationTest < Skep::TestCase
  ThreadStatus = Skep::Swarm::IPC::Scoreboard::ThreadStatus
  private_constant :ThreadStatus

  def setup = @pause_compensation = Skep::Swarm::Health::PauseCompensation.new

  test "extends no deadline without a pause" do
    unchanged = status(at: 10.0, busy: 20.0)
    assert_equal unchanged, @pause_compensation.apply(unchanged)
  end

  test "considers no heartbeat older than the end of the pause" do
    @pause_compensation.extend_deadlines(100.0, 160.0, [])
    assert_in_delta 160.0, @pause_compensation.apply(status(at: 90.0)).at
    assert_in_delta 170.0, @pause_compensation.apply(status(at: 170.0)).at
    assert_in_delta 160.0, @pause_compensation.since(90.0)
  end

  test "extends a busy declaration by the length of the pause" do
    @pause_compensation.extend_deadlines(100.0, 160.0, [status(at: 90.0, busy: 150.0)])
    assert_in_delta 210.0, @pause_compensation.apply(status(at: 90.0, busy: 150.0)).busy_until
  end

  test "doesn't extend a busy declaration that ended before the pause" do
    @pause_compensation.extend_deadlines(100.0, 160.0, [status(at: 90.0, busy: 95.0)])
    assert_in_delta 95.0, @pause_compensation.apply(status(at: 90.0, busy: 95.0)).busy_until
  end

  test "doesn't extend a busy declaration that is made after the pause" do
    @pause_compensation.extend_deadlines(100.0, 160.0, [status(at: 90.0, busy: 150.0)])
    assert_in_delta 500.0, @pause_compensation.apply(status(at: 90.0, busy: 500.0)).busy_until
  end

  test "extends a busy declaration by the lengths of two pauses" do
    @pause_compensation.extend_deadlines(100.0, 160.0, [status(at: 90.0, busy: 150.0)])
    @pause_compensation.extend_deadlines(170.0, 270.0, [status(at: 90.0, busy: 150.0)])
    assert_in_delta 310.0, @pause_compensation.apply(status(at: 90.0, busy: 150.0)).busy_until
  end

  private

  def status(at:, busy: 0.0) = ThreadStatus.new(3, 0, at, busy)
end
