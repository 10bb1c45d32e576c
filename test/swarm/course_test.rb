# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class CourseTest < Skep::TestCase
  def setup
    @course = Skep::Swarm::Course.new
  end

  test "a swarm boots, runs, is quiet, stops and has stopped" do
    states = %i[running quiet stopping stopped].map do |step|
      @course.public_send(step)
      @course.state
    end
    assert_equal %i[running quiet stopping stopped], states
  end

  test "a quiet one that gets another mold stays quiet" do
    %i[running quiet running].each { |step| @course.public_send(step) }
    assert_equal :quiet, @course.state
  end

  test "what doesn't run yet, or is stopping, can't be made quiet" do
    @course.quiet
    assert_equal :booting, @course.state
    @course.stopping
    @course.quiet
    assert_equal :stopping, @course.state
  end

  test "what has stopped is stopping too" do
    refute_predicate @course, :stopping?
    @course.stopping
    assert_predicate @course, :stopping?
    refute_predicate @course, :stopped?
    @course.stopped
    assert_predicate @course, :stopping?
    assert_predicate @course, :stopped?
  end

  test "what has stopped stays so, whatever is asked" do
    @course.stopped
    %i[stopping forced].each { |step| @course.public_send(step) }
    assert_equal :stopped, @course.state
  end

  test "a failure or force stops it" do
    @course.forced
    assert_predicate @course, :stopping?
    other = @course.class.new
    other.failed("no node could boot", 1)
    assert_predicate other, :stopping?
  end

  test "it goes on where the program before was, and has booted there" do
    @course.recall("quiet")
    assert_equal :quiet, @course.state
    assert_predicate @course, :booted?
  end

  test "a failure is told once" do
    2.times { @course.failed("no node could boot", 1) }
    assert_equal ["no node could boot"], @course.failures
  end

  test "stopped in time, or done, makes 0" do
    assert_equal [0, 0], [code(nil), code(:done)]
  end

  test "a kill, or force, makes 2" do
    assert_equal [2, 2], [code(nil, killed: true), code(:unclean, killed: true)]
    @course.forced
    assert_equal 2, code(nil)
  end

  test "work that ended badly and a crash loop make 4, a crash loop whoever was killed" do
    assert_equal [4, 4], [code(:unclean), code(:gave_up)]
    assert_equal 4, code(:gave_up, killed: true)
  end

  test "a failed boot makes its own code, whatever else has happened" do
    [1, 75, 78].each do |boot|
      course = @course.class.new
      course.failed("no node could boot", boot)
      course.forced
      assert_equal boot, course.code(:gave_up, killed: true)
    end
  end

  test "of several failures a wrong configuration counts most, then a missing dependency" do
    { [1, 75] => 75, [78, 75, 1] => 78, [nil, "78", 3] => 1, [] => 1 }.each do |codes, code|
      assert_equal code, Skep::ExitCode.of_boot(codes)
    end
  end

  private

  def code(outcome, killed: false) = @course.code(outcome, killed:)
end
