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

  test "lets no silence begin before it is over" do
    @pause_compensation.extend_deadlines(100.0, 160.0, [])
    assert_in_delta 160.0, @pause_compensation.apply(status(at: 90.0)).at
    assert_in_delta 170.0, @pause_compensation.apply(status(at: 170.0)).at
    assert_in_delta 160.0, @pause_compensation.since(90.0)
  end

  test "puts off what was declared by as long as it was" do
    @pause_compensation.extend_deadlines(100.0, 160.0, [status(at: 90.0, busy: 150.0)])
    assert_in_delta 210.0, @pause_compensation.apply(status(at: 90.0, busy: 150.0)).busy_until
  end

  test "puts off nothing that was over before" do
    @pause_compensation.extend_deadlines(100.0, 160.0, [status(at: 90.0, busy: 95.0)])
    assert_in_delta 95.0, @pause_compensation.apply(status(at: 90.0, busy: 95.0)).busy_until
  end

  test "puts off nothing that is declared since" do
    @pause_compensation.extend_deadlines(100.0, 160.0, [status(at: 90.0, busy: 150.0)])
    assert_in_delta 500.0, @pause_compensation.apply(status(at: 90.0, busy: 500.0)).busy_until
  end

  test "adds up when it comes again" do
    @pause_compensation.extend_deadlines(100.0, 160.0, [status(at: 90.0, busy: 150.0)])
    @pause_compensation.extend_deadlines(170.0, 270.0, [status(at: 90.0, busy: 150.0)])
    assert_in_delta 310.0, @pause_compensation.apply(status(at: 90.0, busy: 150.0)).busy_until
  end

  private

  def status(at:, busy: 0.0) = ThreadStatus.new(3, 0, at, busy)
end
