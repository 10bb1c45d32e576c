# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MemoryPressureTest < Skep::TestCase
  def setup
    @pressure = Skep::Swarm::Memory::MemoryPressure.new
    super
  end

  test "is told of when processes wait for memory for a tenth of the time" do
    assert_nil look(10.0, stalled: 5.0)
    assert_nil look(20.0, stalled: 5.9)
    assert_equal({ stalled: 0.2 }, look(30.0, stalled: 7.9))
  end

  test "is told of when the control group is nearly full" do
    assert_nil look(10.0, current: 900, limit: 1000)
    assert_equal({ stalled: 0.0, current: 960, limit: 1000 },
                 look(20.0, current: 960, limit: 1000))
  end

  test "is told of once, as long as it lasts" do
    assert look(10.0, current: 960, limit: 1000)
    assert_nil look(20.0, current: 970, limit: 1000)
    assert_nil look(30.0, current: 500, limit: 1000)
    assert look(40.0, current: 970, limit: 1000)
  end

  test "is silent where nothing is counted" do
    assert_nil look(10.0)
    assert_nil look(10.0, current: 900)
  end

  private

  def look(now, stalled: nil, current: nil, limit: nil)
    @pressure.check(stalled:, current:, limit:, now:)
  end
end
