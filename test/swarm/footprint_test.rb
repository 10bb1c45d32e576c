# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class FootprintTest < Skep::TestCase
  test "takes for private what was not inherited, before it is measured" do
    footprint = born(rss: 500, anonymous: 450, inherited: 400)
    assert_equal [50, 500], [footprint.least, footprint.most]
    footprint.seen(resident(600, 550), 11.0)
    assert_equal [150, 600], [footprint.least, footprint.most]
    assert_nil footprint.to_plain(11.0)
  end

  test "adds what has come since to what was measured" do
    footprint = born(rss: 500, anonymous: 450, inherited: 400)
    footprint.measured(memory(uss: 200, anonymous: 460), 12.0)
    footprint.seen(resident(600, 550), 13.0)
    assert_equal [290, 600], [footprint.least, footprint.most]
    footprint.seen(resident(100, 50), 14.0)
    assert_equal 0, footprint.least
  end

  test "isn't moved by pages that a write makes private, before they are measured" do
    footprint = born(rss: 500, anonymous: 450, inherited: 400)
    footprint.measured(memory(uss: 60, anonymous: 450), 12.0)
    footprint.seen(resident(500, 450), 13.0)
    assert_equal 60, footprint.least
    footprint.measured(memory(uss: 200, anonymous: 450), 14.0)
    assert_equal 200, footprint.least
  end

  test "remembers what it had when it was young" do
    footprint = born(rss: 500, anonymous: 450, inherited: 400)
    assert_equal 50, footprint.fresh
    footprint.measured(memory(uss: 70, anonymous: 450), 12.0)
    footprint.measured(memory(uss: 700, anonymous: 900), 14.0)
    assert_equal 70, footprint.fresh
  end

  test "knows how fast it grew, at the fastest of some looks" do
    footprint = born(rss: 0, anonymous: 0, inherited: 0)
    assert_in_delta 0.0, footprint.rate
    [[11.0, 100], [13.0, 100], [14.0, 50]].each do |now, bytes|
      footprint.seen(resident(bytes, bytes), now)
    end
    assert_in_delta 100.0, footprint.rate
    9.times { |index| footprint.seen(resident(60, 60), 15.0 + index) }
    assert_in_delta 0.0, footprint.rate
  end

  test "may be measured again after a thousand times what it took" do
    footprint = born
    assert_in_delta 10.0, footprint.measurable_at
    footprint.ask
    assert_equal Float::INFINITY, footprint.measurable_at
    footprint.measured(memory(seconds: 0.02), 12.0)
    assert_in_delta 32.0, footprint.measurable_at
    footprint.measured(memory(seconds: 0.0001), 40.0)
    assert_in_delta 41.0, footprint.measurable_at
  end

  test "records how it comes apart from its mold, at ages that double" do
    footprint = born
    assert footprint.decaying?(10.0)
    footprint.measured(memory(uss: 10, shared: 90), 11.0)
    refute footprint.decaying?(11.5)
    footprint.measured(memory(uss: 15, shared: 85), 11.6)
    assert footprint.decaying?(13.0)
    footprint.measured(memory(uss: 20, shared: 80), 14.0)
    refute footprint.decaying?(17.9)
    assert_equal [{ age: 1.0, uss: 10, shared: 90 }, { age: 4.0, uss: 20, shared: 80 }],
                 footprint.decay
  end

  test "tells what was measured, and how long ago" do
    footprint = born
    footprint.measured(memory(uss: 10, shared: 90), 11.0)
    assert_equal({ rss: 100, pss: 50, uss: 10, shared: 90, swap: 0, age: 2.5,
                   decay: [{ age: 1.0, uss: 10, shared: 90 }] }, footprint.to_plain(13.5))
  end

  private

  def born(rss: 100, anonymous: 90, inherited: 80)
    Skep::Swarm::Footprint.new(resident(rss, anonymous), inherited:, now: 10.0)
  end

  def resident(rss, anonymous) = Skep::OS::Resident.new(rss:, anonymous:)

  def memory(uss: 10, shared: 90, anonymous: 90, seconds: 0.0001)
    { "rss" => uss + shared, "pss" => 50, "uss" => uss, "shared" => shared, "swap" => 0,
      "anonymous" => anonymous, "seconds" => seconds }
  end
end
