# frozen_string_literal: true

require "test_helper"
require "skep/work"

class MapPaceTest < Skep::TestCase
  Pace = Skep::Work::Map.const_get(:Pace)
  private_constant :Pace

  def setup
    super
    @pace = Pace.new
  end

  test "begins with one item, none of which waits" do
    assert_equal [1, false], [@pace.size, @pace.ahead?]
  end

  test "doubles under 2 ms, halves over 8, and keeps what lies between" do
    assert_equal 200, sized(100, seconds: 0.0015)
    assert_equal 50, sized(100, seconds: 0.009)
    assert_equal 100, sized(100, seconds: 0.005)
    assert_equal 1, sized(1, seconds: 10.0)
  end

  test "leaps where a chunk took next to no time" do
    assert_equal 64, sized(1, seconds: 0.00001)
    assert_equal 800, sized(100, seconds: 0.0003)
  end

  test "shrinks what is heavy, however quick" do
    assert_equal 50, sized(100, seconds: 0.001, bytes: 1 << 20)
    assert_equal 100, sized(100, seconds: 0.00001, bytes: 400_000)
  end

  test "lets a chunk wait behind a short one only" do
    sized(100, seconds: 0.007)
    assert_predicate @pace, :ahead?
    sized(100, seconds: 0.009)
    refute_predicate @pace, :ahead?
  end

  test "learns nothing from a chunk of which nothing was done" do
    sized(100, seconds: 0.005)
    assert_equal 100, sized(0, seconds: 0.00001)
  end

  private

  def sized(count, seconds:, bytes: 0)
    @pace.learn(count, seconds:, bytes:)
    @pace.size
  end
end
