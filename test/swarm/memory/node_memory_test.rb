# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class NodeMemoryTest < Skep::TestCase
  test "considers growth since the first sample private until it is measured" do
    node_memory = sampled(rss: 500, anonymous: 450)
    assert_equal [0, 500], [node_memory.uss_min, node_memory.uss_max]
    node_memory.seen(resident(600, 550), 11.0)
    assert_equal [100, 600], [node_memory.uss_min, node_memory.uss_max]
    refute_predicate node_memory, :measured?
  end

  test "adds the growth since a measurement to its result" do
    node_memory = sampled(rss: 500, anonymous: 450)
    node_memory.measured(memory(uss: 200, anonymous: 460), 12.0)
    node_memory.seen(resident(600, 550), 13.0)
    assert_equal [290, 600], [node_memory.uss_min, node_memory.uss_max]
    node_memory.seen(resident(100, 50), 14.0)
    assert_equal 0, node_memory.uss_min
  end

  test "includes pages that a write made private only after a measurement" do
    node_memory = sampled(rss: 500, anonymous: 450)
    node_memory.measured(memory(uss: 60, anonymous: 450), 12.0)
    node_memory.seen(resident(500, 450), 13.0)
    assert_equal 60, node_memory.uss_min
    node_memory.measured(memory(uss: 200, anonymous: 450), 14.0)
    assert_equal 200, node_memory.uss_min
  end

  test "keeps the highest USS of its first ten seconds as the baseline" do
    node_memory = sampled(rss: 500, anonymous: 450)
    assert_equal 0, node_memory.baseline_uss
    node_memory.measured(memory(uss: 70, anonymous: 450), 12.0)
    node_memory.seen(resident(500, 440), 14.0)
    assert_equal 70, node_memory.baseline_uss
    node_memory.measured(memory(uss: 700, anonymous: 900), 21.0)
    assert_equal 70, node_memory.baseline_uss
  end

  test "rate returns the fastest growth of the last eight looks" do
    node_memory = sampled(rss: 0, anonymous: 0)
    assert_in_delta 0.0, node_memory.rate
    [[11.0, 100], [13.0, 100], [14.0, 50]].each do |now, bytes|
      node_memory.seen(resident(bytes, bytes), now)
    end
    assert_in_delta 100.0, node_memory.rate
    9.times { |index| node_memory.seen(resident(60, 60), 15.0 + index) }
    assert_in_delta 0.0, node_memory.rate
  end

  test "may be measured again after a pause if the node couldn't count its pages" do
    node_memory = sampled
    node_memory.measured({}, 10.5) # without a request
    node_memory.requested(11.0)
    node_memory.measured({}, 10.5) # written before the request
    assert_equal Float::INFINITY, node_memory.facts.measurable_at
    node_memory.measured({}, 12.0)
    assert_in_delta 13.0, node_memory.facts.measurable_at
    assert_nil node_memory.waited(12.0)
    refute_predicate node_memory, :measured?
  end

  test "may be measured again after a thousand times the duration of the count" do
    node_memory = sampled
    assert_in_delta 10.0, node_memory.facts.measurable_at
    node_memory.requested(11.0)
    assert_equal Float::INFINITY, node_memory.facts.measurable_at
    assert_in_delta 0.5, node_memory.waited(11.5)
    node_memory.measured(memory(seconds: 0.02), 12.0)
    assert_in_delta 32.0, node_memory.facts.measurable_at
    node_memory.measured(memory(seconds: 0.0001), 40.0)
    assert_in_delta 43.0, node_memory.facts.measurable_at
    node_memory.measured(memory(seconds: 0.0001), 400.0)
    assert_in_delta 439.0, node_memory.facts.measurable_at
  end

  test "is stale at first, then when its age has doubled or five minutes passed" do
    node_memory = sampled
    assert node_memory.stale?(10.0)
    node_memory.requested(10.0)
    refute node_memory.stale?(11.0)
    node_memory.measured(memory, 12.0)
    refute node_memory.stale?(13.9)
    assert node_memory.stale?(14.0)
    node_memory.measured(memory, 10_010.0)
    refute node_memory.stale?(10_309.0)
    assert node_memory.stale?(10_310.0)
  end

  test "may be measured less often while it doesn't grow" do
    mib = 1 << 20
    node_memory = Skep::Swarm::Memory::NodeMemory.new(resident(100, 90), now: 10.0, rest: 60.0)
    node_memory.requested(11.0)
    node_memory.measured(memory, 12.0)
    assert_nil node_memory.waited(12.0)
    assert_predicate node_memory, :still?
    assert_in_delta 72.0, node_memory.facts.measurable_at
    node_memory.seen(resident(2 * mib, 2 * mib), 13.0)
    refute_predicate node_memory, :still?
    assert_in_delta 13.0, node_memory.facts.measurable_at
    refute node_memory.facts.still
  end

  test "ignores a result that isn't newer than the last one" do
    node_memory = sampled
    node_memory.requested(11.0)
    node_memory.measured(memory(uss: 70), 10.0) # by the previous node with its page index
    refute_predicate node_memory, :measured?
    node_memory.measured(memory(uss: 80), 12.0)
    node_memory.requested(13.0)
    node_memory.measured(memory(uss: 80), 12.0)
    assert_in_delta 0.5, node_memory.waited(13.5)
  end

  test "records its private and shared bytes at ages that double" do
    node_memory = sampled
    [[11.0, 10], [11.6, 15], [14.0, 20], [17.9, 25]].each do |now, uss|
      node_memory.measured(memory(uss:, shared: 100 - uss), now)
    end
    assert_equal [{ age: 1.0, uss: 10, shared: 90 }, { age: 4.0, uss: 20, shared: 80 }],
                 node_memory.decay
  end

  test "to_plain has only the RSS before the first measurement" do
    plain = sampled(rss: 500, anonymous: 450).to_plain(10.0)
    assert_equal({ rss: 500, pss: nil, uss: nil, shared: nil, swap: nil, measured: nil, decay: [] },
                 plain)
  end

  test "to_plain adds the growth since the last measurement" do
    node_memory = sampled
    node_memory.measured(memory(uss: 10, shared: 90), 11.0)
    node_memory.seen(resident(120, 110), 13.0)
    assert_equal({ rss: 120, pss: 70, uss: 30, shared: 90, swap: 0, measured: 2.5,
                   decay: [{ age: 1.0, uss: 10, shared: 90 }] }, node_memory.to_plain(13.5))
  end

  private

  def sampled(rss: 100, anonymous: 90)
    Skep::Swarm::Memory::NodeMemory.new(resident(rss, anonymous), now: 10.0)
  end

  def resident(rss, anonymous) = Skep::OS::Memory::Statm.new(rss:, anonymous:)

  def memory(uss: 10, shared: 90, anonymous: 90, seconds: 0.0001)
    { "rss" => uss + shared, "pss" => 50, "uss" => uss, "shared" => shared, "swap" => 0,
      "anonymous" => anonymous, "seconds" => seconds }
  end
end
