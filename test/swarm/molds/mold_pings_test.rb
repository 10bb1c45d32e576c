# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MoldPingsTest < Skep::TestCase
  def setup = @calls = Skep::Swarm::Molds::MoldPings.new(timeout: 30.0)

  test "asks each, and none again before a timeout is over" do
    assert_equal %i[a b], asked(%i[a b], 100.0)
    %i[a b].each { |mold| @calls.answered(mold) }
    assert_empty asked(%i[a b], 129.0)
    assert_equal %i[a b c], asked(%i[a b c], 130.0)
  end

  test "finds who hasn't answered for a timeout" do
    asked(%i[a b], 100.0)
    @calls.answered(:a)
    assert_empty @calls.silent(%i[a b], 129.9)
    assert_equal [:b], @calls.silent(%i[a b], 130.0)
  end

  test "doesn't ask twice who hasn't answered" do
    asked([:a], 100.0)
    assert_empty asked([:a], 131.0)
    assert_equal [:a], @calls.silent([:a], 131.0)
  end

  test "gives all the time again when we were away ourselves" do
    asked([:a], 100.0)
    @calls.excuse(200.0)
    assert_empty @calls.silent([:a], 229.0)
    assert_equal [:a], @calls.silent([:a], 230.0)
  end

  test "forgets who is gone" do
    asked([:a], 100.0)
    assert_empty asked([], 110.0)
    assert_equal [:a], asked([:a], 120.0)
  end

  private

  def asked(molds, now)
    [].tap { |asked| @calls.call(molds, now) { |mold| asked << mold } }
  end
end
