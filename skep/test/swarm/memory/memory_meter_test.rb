# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MemoryMeterTest < Skep::TestCase
  MIB = 1 << 20
  private_constant :MIB

  def setup
    @page = Skep::OS::SharedPage.create(1)
    @sample = sample(uss: 10, rss: 100)
    super
  end

  def teardown
    @page.close
    super
  end

  test "writes a measurement of this process to its cell" do
    config = Skep::Swarm::Definition::Config.new("a", {})
    Skep::Swarm::Memory::MemoryMeter.new(@page, 0, config, nodes: 1).measure
    at, sample = find
    assert_in_delta Skep::OS.now, at, 10.0
    assert_operator sample["uss"], :>, MIB
  end

  test "clears what another process has left in its cell" do
    Skep::Swarm::IPC::Scoreboard::MemorySample.leave(@page, 0, 1.0, @sample)
    meter
    assert_nil find
  end

  test "measures at ages that double, then every five minutes" do
    meter = meter()
    meter.define_singleton_method(:processor_time) { 0.0 } # a garbage collection may cost some
    times = [meter.due]
    10.times { times << measure(meter) }
    assert_equal [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 812], times
    assert_equal 812 + 300, measure(meter)
    refute meter.due?(1111.0)
    assert meter.due?(1112.0)
  end

  test "doesn't wake a node of a long liveness_timeout more often than every second timeout" do
    meter = meter(liveness_timeout: 600)
    assert_equal 2000 + 1200, measure(meter, at: 2000.0)
  end

  test "measures often while the limit lies between USS and RSS, and the node changes" do
    meter = meter(memory_limit: "50M")
    assert_in_delta 110.0, measure(meter, at: 100.0)
    assert_in_delta 220.0, measure(meter, at: 110.0), 0.001, "it hasn't changed"
    @sample = sample(uss: 12, rss: 102)
    assert_in_delta 242.0, measure(meter, at: 220.0)
    @sample = sample(uss: 12, rss: 40)
    assert_in_delta 484.0, measure(meter, at: 242.0), 0.001, "its RSS is within the limit"
    @sample = sample(uss: 60, rss: 100)
    assert_in_delta 784.0, measure(meter, at: 484.0), 0.001, "its USS is over the limit"
  end

  test "tries again soon if it couldn't count its pages" do
    @sample = {}
    meter = meter()
    assert_in_delta 2.0, measure(meter, at: 1.0)
    assert_in_delta 66.0, measure(meter, at: 60.0)
    assert_equal [60.0, {}], find
  end

  test "takes at most a thousandth of a processor for all nodes together" do
    meter = meter(nodes: 4, count: -> { burn(0.05) })
    assert_operator measure(meter, at: 1.0), :>=, 1 + (0.05 * 1000 * 4)
  end

  private

  def meter(nodes: 1, count: -> { @sample }, **options)
    config = Skep::Swarm::Definition::Config.new("a", options.transform_keys(&:to_s))
    Skep::Swarm::Memory::MemoryMeter.new(@page, 0, config, nodes:, now: 0.0, count:)
  end

  # Returns when the next measurement is due.
  def measure(meter, at: meter.due)
    meter.measure(at)
    meter.due
  end

  def burn(seconds)
    clock = Process::CLOCK_THREAD_CPUTIME_ID
    deadline = Process.clock_gettime(clock) + seconds
    nil while Process.clock_gettime(clock) < deadline
    @sample
  end

  def find = Skep::Swarm::IPC::Scoreboard::MemorySample.find(@page, 0)

  # In MiB.
  def sample(uss:, rss:)
    bytes = { "rss" => rss, "pss" => uss, "uss" => uss, "shared" => rss - uss, "swap" => 0 }
    { **bytes, "anonymous" => rss }.transform_values { |value| value * MIB }
  end
end
