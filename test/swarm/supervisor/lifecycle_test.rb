# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class LifecycleTest < Skep::TestCase
  def setup
    @lifecycle = Skep::Swarm::Supervisor::Lifecycle.new
  end

  test "a swarm boots, runs, is quiet, stops and has stopped" do
    states = %i[running quiet stopping stopped].map do |step|
      @lifecycle.public_send(step)
      @lifecycle.state
    end
    assert_equal %i[running quiet stopping stopped], states
  end

  test "a quiet one that gets another mold stays quiet" do
    %i[running quiet running].each { |step| @lifecycle.public_send(step) }
    assert_equal :quiet, @lifecycle.state
  end

  test "what doesn't run yet, or is stopping, can't be made quiet" do
    @lifecycle.quiet
    assert_equal :booting, @lifecycle.state
    @lifecycle.stopping
    @lifecycle.quiet
    assert_equal :stopping, @lifecycle.state
  end

  test "what has stopped is stopping too" do
    refute_predicate @lifecycle, :stopping?
    @lifecycle.stopping
    assert_predicate @lifecycle, :stopping?
    refute_predicate @lifecycle, :stopped?
    @lifecycle.stopped
    assert_predicate @lifecycle, :stopping?
    assert_predicate @lifecycle, :stopped?
  end

  test "what has stopped stays so, whatever is asked" do
    @lifecycle.stopped
    %i[stopping forced].each { |step| @lifecycle.public_send(step) }
    assert_equal :stopped, @lifecycle.state
  end

  test "a failure or force stops it" do
    @lifecycle.forced
    assert_predicate @lifecycle, :stopping?
    other = @lifecycle.class.new
    other.failed("no node could boot", 1)
    assert_predicate other, :stopping?
  end

  test "it goes on where the program before was, and has booted there" do
    @lifecycle.restore("quiet")
    assert_equal :quiet, @lifecycle.state
    assert_predicate @lifecycle, :booted?
  end

  test "a failure is told once" do
    2.times { @lifecycle.failed("no node could boot", 1) }
    assert_equal ["no node could boot"], @lifecycle.failures
  end

  test "stopped in time, or done, makes 0" do
    assert_equal [0, 0], [code(nil), code(:done)]
  end

  test "a kill, or force, makes 2" do
    assert_equal [2, 2], [code(nil, killed: true), code(:unclean, killed: true)]
    @lifecycle.forced
    assert_equal 2, code(nil)
  end

  test "work that ended badly and a crash loop make 4, a crash loop whoever was killed" do
    assert_equal [4, 4], [code(:unclean), code(:gave_up)]
    assert_equal 4, code(:gave_up, killed: true)
  end

  test "a failed boot makes its own code, whatever else has happened" do
    [1, 75, 78].each do |boot|
      lifecycle = @lifecycle.class.new
      lifecycle.failed("no node could boot", boot)
      lifecycle.forced
      assert_equal boot, lifecycle.code(:gave_up, killed: true)
    end
  end

  test "of several failures a wrong configuration counts most, then a missing dependency" do
    { [1, 75] => 75, [78, 75, 1] => 78, [nil, "78", 3] => 1, [] => 1 }.each do |codes, code|
      assert_equal code, Skep::ExitCode.of_boot(codes)
    end
  end

  private

  def code(outcome, killed: false) = @lifecycle.code(outcome, killed:)
end
