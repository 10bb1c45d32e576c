# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MemoryPressureTest < Skep::TestCase
  def setup
    @pressure = Skep::Swarm::Memory::MemoryPressure.new
    super
  end

  test "reports pressure if processes are stalled on memory for a tenth of the time" do
    assert_nil check(10.0, stalled: 5.0)
    assert_nil check(20.0, stalled: 5.9)
    assert_equal({ stalled: 0.2 }, check(30.0, stalled: 7.9))
  end

  test "reports pressure if the control group is nearly full" do
    assert_nil check(10.0, current: 900, limit: 1000)
    assert_equal({ stalled: 0.0, current: 960, limit: 1000 },
                 check(20.0, current: 960, limit: 1000))
  end

  test "reports pressure once while it lasts" do
    assert check(10.0, current: 960, limit: 1000)
    assert_nil check(20.0, current: 970, limit: 1000)
    assert_nil check(30.0, current: 500, limit: 1000)
    assert check(40.0, current: 970, limit: 1000)
  end

  test "reports no pressure without stall times or a limit" do
    assert_nil check(10.0)
    assert_nil check(10.0, current: 900)
  end

  private

  def check(now, stalled: nil, current: nil, limit: nil)
    @pressure.check(stalled:, current:, limit:, now:)
  end
end
