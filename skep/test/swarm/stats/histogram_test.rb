# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class HistogramTest < Skep::TestCase
  Histogram = Skep::Swarm::Stats::Histogram

  test "keeps two digits of a duration, rounded up to the bound of its bucket" do
    { 1 => 1_000, 1_000 => 1_000, 1_001 => 1_100, 9_950 => 10_000, 10_000 => 10_000,
      10_001 => 11_000, 1_234_567 => 1_300_000, 99_000_001 => 100_000_000,
      10**18 => 10**13 }.each do |time, bucket|
      assert_equal bucket, Histogram.bucket(time), "for #{time} ns"
      assert_equal bucket, Histogram.bucket(bucket)
    end
  end

  test "any quantile is off by at most 5%" do
    random = Random.new(7)
    times = Array.new(5_000) { (10**random.rand(3.0..10.0)).round }.sort
    histogram = of(times)
    [0.01, 0.5, 0.9, 0.99, 0.999, 1.0].each do |part|
      exact = times[(part * times.size).ceil - 1] / 1e9
      assert_in_delta exact, histogram.quantile(part), exact * 0.05, "quantile #{part}"
    end
  end

  test "has at most 901 buckets, however many durations it counts" do
    histogram = of((0..13).flat_map { |power| (10..1_000).map { |n| n * (10**power) / 7 } })
    assert_operator histogram.to_plain["buckets"].size, :<=, 901
  end

  test "has no quantile if it is empty" do
    assert_nil Histogram.new.quantile(0.5)
    assert_equal({ "count" => 0, "sum" => 0.0, "p50" => nil, "p99" => nil, "buckets" => [] },
                 Histogram.new.to_plain)
  end

  test "merges the histograms of several nodes to that of all durations" do
    times = Array.new(900) { |n| (n + 1) * 12_345 }
    plain = times.each_slice(300).map { |some| JSON.parse(JSON.generate(of(some).to_plain)) }
    assert_equal of(times).to_plain, Histogram.merge(plain).to_plain
  end

  private

  def of(times) = times.each_with_object(Histogram.new) { |time, all| all.add(time) }
end
