# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class LifecycleTest < Skep::TestCase
  def setup
    @lifecycle = Skep::Swarm::Supervisor::Lifecycle.new
  end

  test "a swarm boots, runs, is quiet, stops and has stopped" do
    states = %i[run quiet stop finish].map do |step|
      @lifecycle.public_send(step)
      @lifecycle.state
    end
    assert_equal %i[running quiet stopping stopped], states
  end

  test "a quiet one that gets another mold stays quiet" do
    %i[run quiet run].each { |step| @lifecycle.public_send(step) }
    assert_equal :quiet, @lifecycle.state
  end

  test "what is asked to be quiet while it boots is quiet once it runs" do
    @lifecycle.quiet
    assert_equal :booting, @lifecycle.state
    @lifecycle.run
    assert_equal :quiet, @lifecycle.state
  end

  test "what is stopping can't be made quiet" do
    @lifecycle.stop
    @lifecycle.quiet
    assert_equal :stopping, @lifecycle.state
  end

  test "what has stopped is stopping too" do
    refute_predicate @lifecycle, :stopping?
    @lifecycle.stop
    assert_predicate @lifecycle, :stopping?
    refute_predicate @lifecycle, :stopped?
    @lifecycle.finish
    assert_predicate @lifecycle, :stopping?
    assert_predicate @lifecycle, :stopped?
  end

  test "what has stopped stays so, whatever is asked" do
    @lifecycle.finish
    %i[stop force quiet finish].each { |step| @lifecycle.public_send(step) }
    assert_equal :stopped, @lifecycle.state
  end

  test "what is stopping can't run" do
    @lifecycle.stop
    error = assert_raises(Skep::Swarm::Runtime::StateMachine::Impossible) { @lifecycle.run }
    assert_equal "Skep::Swarm::Supervisor::Lifecycle: run is impossible in state stopping",
                 error.message
  end

  test "a failure or force stops it" do
    @lifecycle.force
    assert_predicate @lifecycle, :stopping?
    other = @lifecycle.class.new
    other.fail_boot("no node could boot", 1)
    assert_predicate other, :stopping?
  end

  test "it goes on where the program before was, its nodes requested" do
    @lifecycle.restore("quiet")
    assert_predicate @lifecycle, :quiet?
    assert_predicate @lifecycle, :nodes_requested?
    @lifecycle.run
    assert_predicate @lifecycle, :quiet?
  end

  test "a failure is told once" do
    2.times { @lifecycle.fail_boot("no node could boot", 1) }
    assert_equal ["no node could boot"], @lifecycle.failures
  end

  test "it was asked to stop once somebody asked, however else it stops" do
    @lifecycle.stop(outcome: :done)
    refute_predicate @lifecycle, :asked?
    @lifecycle.stop(asked: true)
    assert_predicate @lifecycle, :asked?
  end

  test "stopped in time, or done, makes 0" do
    assert_equal [0, 0], [code(nil), code(:done)]
  end

  test "a kill, or force, makes 2" do
    assert_equal [2, 2], [code(nil, killed: true), code(:unclean, killed: true)]
    @lifecycle.force
    assert_equal 2, @lifecycle.exit_code
  end

  test "a kill before the stop is of no matter" do
    @lifecycle.node_killed
    @lifecycle.stop
    assert_equal 0, @lifecycle.exit_code
  end

  test "work that ended badly and a crash loop make 4, a crash loop whoever was killed" do
    assert_equal [4, 4], [code(:unclean), code(:gave_up)]
    assert_equal 4, code(:gave_up, killed: true)
  end

  test "a failed boot makes its own code, whatever else has happened" do
    [1, 75, 78].each do |boot|
      lifecycle = @lifecycle.class.new
      lifecycle.fail_boot("no node could boot", boot)
      lifecycle.stop(outcome: :gave_up)
      lifecycle.force
      assert_equal boot, lifecycle.exit_code
    end
  end

  test "of several failures a wrong configuration counts most, then a missing dependency" do
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
