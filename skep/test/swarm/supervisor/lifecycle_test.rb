# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class LifecycleTest < Skep::TestCase
  def setup
    @lifecycle = Skep::Swarm::Supervisor::Lifecycle.new
  end

  test "goes from booting to running, quiet, stopping and stopped" do
    states = %i[run quiet stop finish].map do |step|
      @lifecycle.public_send(step)
      @lifecycle.state
    end
    assert_equal %i[running quiet stopping stopped], states
  end

  test "a quiet swarm stays quiet when another mold is ready" do
    %i[run quiet run].each { |step| @lifecycle.public_send(step) }
    assert_equal :quiet, @lifecycle.state
  end

  test "quiet during the boot takes effect once the swarm runs" do
    @lifecycle.quiet
    assert_equal :booting, @lifecycle.state
    @lifecycle.run
    assert_equal :quiet, @lifecycle.state
  end

  test "the end of quiet makes a swarm run, also one that hasn't run yet" do
    refute @lifecycle.end_quiet
    @lifecycle.quiet
    assert @lifecycle.end_quiet
    @lifecycle.run
    assert_equal :running, @lifecycle.state
    @lifecycle.quiet
    assert @lifecycle.end_quiet
    @lifecycle.run # another mold
    assert_equal :running, @lifecycle.state
    refute @lifecycle.end_quiet
  end

  test "the end of quiet has no effect on a stopping swarm" do
    %i[run quiet stop].each { |step| @lifecycle.public_send(step) }
    refute @lifecycle.end_quiet
    assert_equal :stopping, @lifecycle.state
  end

  test "quiet has no effect on a stopping swarm" do
    @lifecycle.stop
    @lifecycle.quiet
    assert_equal :stopping, @lifecycle.state
  end

  test "stopping? is true for a stopped swarm too" do
    refute_predicate @lifecycle, :stopping?
    @lifecycle.stop
    assert_predicate @lifecycle, :stopping?
    refute_predicate @lifecycle, :stopped?
    @lifecycle.finish
    assert_predicate @lifecycle, :stopping?
    assert_predicate @lifecycle, :stopped?
  end

  test "a stopped swarm stays stopped" do
    @lifecycle.finish
    %i[stop force quiet finish].each { |step| @lifecycle.public_send(step) }
    assert_equal :stopped, @lifecycle.state
  end

  test "run raises Impossible for a stopping swarm" do
    @lifecycle.stop
    error = assert_raises(Skep::Swarm::Runtime::StateMachine::Impossible) { @lifecycle.run }
    assert_equal "Skep::Swarm::Supervisor::Lifecycle: run is impossible in state stopping",
                 error.message
  end

  test "a failed boot or a forced stop makes it stopping" do
    @lifecycle.force
    assert_predicate @lifecycle, :stopping?
    other = @lifecycle.class.new
    other.fail_boot("no node could boot", 1)
    assert_predicate other, :stopping?
  end

  test "records a repeated failure once" do
    2.times { @lifecycle.fail_boot("no node could boot", 1) }
    assert_equal ["no node could boot"], @lifecycle.failures
  end

  test "asked? is true once a signal or command asks for the stop, even after another cause" do
    @lifecycle.stop(outcome: :done)
    refute_predicate @lifecycle, :asked?
    @lifecycle.stop(asked: true)
    assert_predicate @lifecycle, :asked?
  end

  test "exits with 0 if its nodes stopped in time or its work is done" do
    assert_equal [0, 0], [code(nil), code(:done)]
  end

  test "exits with 2 if a node was killed or the stop was forced" do
    assert_equal [2, 2], [code(nil, killed: true), code(:unclean, killed: true)]
    @lifecycle.force
    assert_equal 2, @lifecycle.exit_code
  end

  test "exits with 0 if a node was killed only before the stop" do
    @lifecycle.node_killed
    @lifecycle.stop
    assert_equal 0, @lifecycle.exit_code
  end

  test "exits with 4 for unclean work, and for a crash loop even if a node was killed" do
    assert_equal [4, 4], [code(:unclean), code(:gave_up)]
    assert_equal 4, code(:gave_up, killed: true)
  end

  test "exits with the code of a failed boot, whatever else has happened" do
    [1, 75, 78].each do |boot|
      lifecycle = @lifecycle.class.new
      lifecycle.fail_boot("no node could boot", boot)
      lifecycle.stop(outcome: :gave_up)
      lifecycle.force
      assert_equal boot, lifecycle.exit_code
    end
  end

  test "of several boot failures, a wrong configuration sets the code, then a missing dependency" do
    { [1, 75] => 75, [78, 75, 1] => 78, [nil, "78", 3] => 1, [] => 1 }.each do |codes, code|
      assert_equal code, Skep::ExitCode.of_boot(codes)
    end
  end

  private

  def code(outcome, killed: false)
    lifecycle = @lifecycle.class.new
    lifecycle.stop(outcome:)
    lifecycle.node_killed if killed
    lifecycle.exit_code
  end
end
