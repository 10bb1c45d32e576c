# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class FootprintTest < Skep::TestCase
  test "takes for private what has come since it was ready, before it is measured" do
    footprint = born(rss: 500, anonymous: 450)
    assert_equal [0, 500], [footprint.least, footprint.most]
    footprint.seen(resident(600, 550), 11.0)
    assert_equal [100, 600], [footprint.least, footprint.most]
    refute_predicate footprint, :measured?
  end

  test "adds what has come since to what was measured" do
    footprint = born(rss: 500, anonymous: 450)
    footprint.measured(memory(uss: 200, anonymous: 460), 12.0)
    footprint.seen(resident(600, 550), 13.0)
    assert_equal [290, 600], [footprint.least, footprint.most]
    footprint.seen(resident(100, 50), 14.0)
    assert_equal 0, footprint.least
  end

  test "isn't moved by pages that a write makes private, before they are measured" do
    footprint = born(rss: 500, anonymous: 450)
    footprint.measured(memory(uss: 60, anonymous: 450), 12.0)
    footprint.seen(resident(500, 450), 13.0)
    assert_equal 60, footprint.least
    footprint.measured(memory(uss: 200, anonymous: 450), 14.0)
    assert_equal 200, footprint.least
  end

  test "remembers what it had in its first seconds, at the most" do
    footprint = born(rss: 500, anonymous: 450)
    assert_equal 0, footprint.fresh
    footprint.measured(memory(uss: 70, anonymous: 450), 12.0)
    footprint.seen(resident(500, 440), 14.0)
    assert_equal 70, footprint.fresh
    footprint.measured(memory(uss: 700, anonymous: 900), 21.0)
    assert_equal 70, footprint.fresh
  end

  test "knows how fast it grew, at the fastest of some looks" do
    footprint = born(rss: 0, anonymous: 0)
    assert_in_delta 0.0, footprint.rate
    [[11.0, 100], [13.0, 100], [14.0, 50]].each do |now, bytes|
      footprint.seen(resident(bytes, bytes), now)
    end
    assert_in_delta 100.0, footprint.rate
    9.times { |index| footprint.seen(resident(60, 60), 15.0 + index) }
    assert_in_delta 0.0, footprint.rate
  end

  test "is asked again after a pause where the node couldn't count its pages" do
    footprint = born
    footprint.measured({}, 10.5) # nobody has asked
    footprint.ask(11.0)
    footprint.measured({}, 10.5) # what was left before
    assert_equal Float::INFINITY, footprint.facts.measurable_at
    footprint.measured({}, 12.0)
    assert_in_delta 13.0, footprint.facts.measurable_at
    assert_nil footprint.waited(12.0)
    refute_predicate footprint, :measured?
  end

  test "may be measured again after a thousand times what it took" do
    footprint = born
    assert_in_delta 10.0, footprint.facts.measurable_at
    footprint.ask(11.0)
    assert_equal Float::INFINITY, footprint.facts.measurable_at
    assert_in_delta 0.5, footprint.waited(11.5)
    footprint.measured(memory(seconds: 0.02), 12.0)
    assert_in_delta 32.0, footprint.facts.measurable_at
    footprint.measured(memory(seconds: 0.0001), 40.0)
    assert_in_delta 43.0, footprint.facts.measurable_at
    footprint.measured(memory(seconds: 0.0001), 400.0)
    assert_in_delta 439.0, footprint.facts.measurable_at
  end

  test "is measured once at least, and then at ages that double, but each five minutes" do
    footprint = born
    assert footprint.stale?(10.0)
    footprint.ask(10.0)
    refute footprint.stale?(11.0)
    footprint.measured(memory, 12.0)
    refute footprint.stale?(13.9)
    assert footprint.stale?(14.0)
    footprint.measured(memory, 10_010.0)
    refute footprint.stale?(10_309.0)
    assert footprint.stale?(10_310.0)
  end

  test "is left alone for longer while it keeps still" do
    mib = 1 << 20
    footprint = Skep::Swarm::Footprint.new(resident(100, 90), now: 10.0, rest: 60.0)
    footprint.ask(11.0)
    footprint.measured(memory, 12.0)
    assert_nil footprint.waited(12.0)
    assert_predicate footprint, :still?
    assert_in_delta 72.0, footprint.facts.measurable_at
    footprint.seen(resident(2 * mib, 2 * mib), 13.0)
    refute_predicate footprint, :still?
    assert_in_delta 13.0, footprint.facts.measurable_at
    refute footprint.facts.still
  end

  test "learns nothing from what was counted before" do
    footprint = born
    footprint.ask(11.0)
    footprint.measured(memory(uss: 70), 10.0) # by who had its slot before it was born
    refute_predicate footprint, :measured?
    footprint.measured(memory(uss: 80), 12.0)
    footprint.ask(13.0)
    footprint.measured(memory(uss: 80), 12.0)
    assert_in_delta 0.5, footprint.waited(13.5)
  end

  test "records how it comes apart from its mold, at ages that double" do
    footprint = born
    [[11.0, 10], [11.6, 15], [14.0, 20], [17.9, 25]].each do |now, uss|
      footprint.measured(memory(uss:, shared: 100 - uss), now)
    end
    assert_equal [{ age: 1.0, uss: 10, shared: 90 }, { age: 4.0, uss: 20, shared: 80 }],
                 footprint.decay
  end

  test "tells what is known, before it is measured" do
    plain = born(rss: 500, anonymous: 450).to_plain(10.0)
    assert_equal({ rss: 500, pss: nil, uss: nil, shared: nil, swap: nil, measured: nil, decay: [] },
                 plain)
  end

  test "tells what was measured, and what came since" do
    footprint = born
    footprint.measured(memory(uss: 10, shared: 90), 11.0)
    footprint.seen(resident(120, 110), 13.0)
    assert_equal({ rss: 120, pss: 70, uss: 30, shared: 90, swap: 0, measured: 2.5,
                   decay: [{ age: 1.0, uss: 10, shared: 90 }] }, footprint.to_plain(13.5))
  end

  test "is worth a look for a leak when it has grown, and again when by twice as much" do
    mib = 1 << 20
    footprint = born
    refute_predicate footprint, :suspicious?
    footprint.seen(resident(5 * mib, 5 * mib), 11.0)
    assert_predicate footprint, :suspicious?
    footprint.suspected(4 * mib)
    refute_predicate footprint, :suspicious?
    footprint.seen(resident(9 * mib, 9 * mib), 12.0)
    assert_predicate footprint, :suspicious?
  end

  private

  def born(rss: 100, anonymous: 90)
    Skep::Swarm::Footprint.new(resident(rss, anonymous), now: 10.0)
  end

  def resident(rss, anonymous) = Skep::OS::Resident.new(rss:, anonymous:)

  def memory(uss: 10, shared: 90, anonymous: 90, seconds: 0.0001)
    { "rss" => uss + shared, "pss" => 50, "uss" => uss, "shared" => shared, "swap" => 0,
      "anonymous" => anonymous, "seconds" => seconds }
  end
end
