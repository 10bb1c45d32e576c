# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class NodeMemoryTest < Skep::TestCase
  test "considers growth since the first look private until it is measured" do
    node_memory = seen(rss: 500, anonymous: 450)
    assert_equal [0, 500], [node_memory.uss_min, node_memory.uss_max]
    node_memory.seen(statm(600, 550), 11.0)
    assert_equal [100, 600], [node_memory.uss_min, node_memory.uss_max]
    refute_predicate node_memory, :measured?
  end

  test "adds the growth since a measurement to its result" do
    node_memory = seen(rss: 500, anonymous: 450)
    node_memory.measured(12.0, sample(uss: 200, anonymous: 460))
    node_memory.seen(statm(600, 550), 13.0)
    assert_equal [290, 600], [node_memory.uss_min, node_memory.uss_max]
    node_memory.seen(statm(100, 50), 14.0)
    assert_equal 0, node_memory.uss_min
  end

  test "includes pages that a write made private only after a measurement" do
    node_memory = seen(rss: 500, anonymous: 450)
    node_memory.measured(12.0, sample(uss: 60, anonymous: 450))
    node_memory.seen(statm(500, 450), 13.0)
    assert_equal 60, node_memory.uss_min
    node_memory.measured(14.0, sample(uss: 200, anonymous: 450))
    assert_equal 200, node_memory.uss_min
  end

  test "is what the node has measured while its counters can't be read" do
    node_memory = Skep::Swarm::Memory::NodeMemory.new(10.0)
    node_memory.seen(nil, 10.0)
    assert_equal [0, 0], [node_memory.uss_min, node_memory.uss_max]
    node_memory.measured(12.0, sample(uss: 60, shared: 40))
    node_memory.seen(nil, 13.0)
    assert_equal [60, 100], [node_memory.uss_min, node_memory.uss_max]
    assert_equal 100, node_memory.to_plain(14.0)[:rss]
  end

  test "keeps the highest USS of its first ten seconds" do
    node_memory = seen(rss: 500, anonymous: 450)
    assert_equal 0, node_memory.young_uss
    node_memory.measured(12.0, sample(uss: 70, anonymous: 450))
    [[450, 13.0], [440, 14.0], [900, 21.0]].each do |bytes, now|
      node_memory.seen(statm(bytes, bytes), now)
    end
    assert_equal 70, node_memory.young_uss
  end

  test "its rate follows growth at once, and falls by half at each look" do
    node_memory = seen(rss: 0, anonymous: 0)
    assert_equal Float::INFINITY, node_memory.seconds_to(500)
    node_memory.seen(statm(200, 200), 12.0)
    assert_in_delta 100.0, node_memory.rate
    assert_in_delta 3.0, node_memory.seconds_to(500)
    node_memory.seen(statm(100, 100), 13.0)
    assert_in_delta 50.0, node_memory.rate
    node_memory.seen(nil, 14.0)
    assert_in_delta 25.0, node_memory.rate
  end

  test "answers a request with a sample, and with none if the node couldn't count its pages" do
    node_memory = seen
    refute node_memory.answered?(since: 0.0)
    node_memory.measured(12.0, {})
    assert node_memory.answered?(since: 12.0)
    refute_predicate node_memory, :measured?
    node_memory.measured(13.0, sample)
    node_memory.measured(14.0, {})
    assert node_memory.answered?(since: 14.0)
    assert_predicate node_memory, :measured?
  end

  test "ignores a sample that it has already" do
    node_memory = seen
    node_memory.measured(12.0, sample(uss: 80))
    node_memory.measured(12.0, sample(uss: 90))
    node_memory.measured(11.0, sample(uss: 90))
    assert_equal 80, node_memory.uss_min
  end

  test "to_plain has only the RSS before the first measurement" do
    assert_equal({ rss: 500, pss: nil, uss: nil, shared: nil, swap: nil, measured: nil },
                 seen(rss: 500, anonymous: 450).to_plain(10.0))
  end

  test "to_plain adds the growth since the last measurement" do
    node_memory = seen
    node_memory.measured(11.0, sample(uss: 10, shared: 90))
    node_memory.seen(statm(120, 110), 13.0)
    assert_equal({ rss: 120, pss: 70, uss: 30, shared: 90, swap: 0, measured: 2.5 },
                 node_memory.to_plain(13.5))
  end

  private

  def seen(rss: 100, anonymous: 90)
    Skep::Swarm::Memory::NodeMemory.new(10.0).tap { |one| one.seen(statm(rss, anonymous), 10.0) }
  end

  def statm(rss, anonymous) = Skep::OS::Memory::Statm.new(rss:, anonymous:)

  def sample(uss: 10, shared: 90, anonymous: 90)
    { "rss" => uss + shared, "pss" => 50, "uss" => uss, "shared" => shared, "swap" => 0,
      "anonymous" => anonymous }
  end
end
