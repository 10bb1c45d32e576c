# frozen_string_literal: true

require "test_helper"
require_relative "snapshots"

class PrometheusTextTest < Skep::TestCase
  test "writes HELP and TYPE before each metric's series, in the order of Definitions" do
    exposition = Skep::Metrics::PrometheusText.new
    exposition.add("skep_suspects", 1)
    exposition.add("skep_uptime_seconds", 2.5)
    assert_equal <<~TEXT, exposition.to_s
      # HELP skep_uptime_seconds Time since the swarm was started.
      # TYPE skep_uptime_seconds gauge
      skep_uptime_seconds 2.5
      # HELP skep_suspects What was in flight when nodes crashed, and may be the cause.
      # TYPE skep_suspects gauge
      skep_suspects 1
    TEXT
  end

  test "escapes the values of labels" do
    exposition = Skep::Metrics::PrometheusText.new
    exposition.add("skep_events_total", 1, event: "a\\b\n\"c\"\xFF")
    assert_includes exposition.to_s, "skep_events_total{event=\"a\\\\b\\n\\\"c\\\"\uFFFD\"} 1\n"
  end

  test "writes flags as 1 and 0, and omits values that are no numbers" do
    exposition = Skep::Metrics::PrometheusText.new
    [true, false, nil, "many", [1]].each_with_index do |value, node|
      exposition.add("skep_node_assigned", value, node:)
    end
    assert_equal ['skep_node_assigned{node="0"} 1', 'skep_node_assigned{node="1"} 0'],
                 exposition.to_s.lines(chomp: true).grep_v(/^#/)
  end

  test "converts a histogram to cumulative buckets, a sum and a count" do
    exposition = Skep::Metrics::PrometheusText.new
    histogram = Skep::Swarm::Stats::Histogram.new
    [4_000_000, 5_000_000, 5_100_000, 7_000_000_000_000].each { |one| histogram.add(one) }
    exposition.add("skep_recovery_seconds", histogram.to_plain)
    text = exposition.to_s
    ['bucket{le="0.005"} 2', 'bucket{le="0.01"} 3', 'bucket{le="1800.0"} 3', 'bucket{le="+Inf"} 4',
     "sum 7000.0141", "count 4"].each do |line|
      assert_includes text, "skep_recovery_seconds_#{line}\n"
    end
  end

  # A node may report anything as facts of its work.
  test "omits values that are no numbers or no histograms" do
    text = Skep::Metrics::PrometheusText.new
    [{}, { "buckets" => nil }, [], "1", nil,
     { "count" => 1, "sum" => 1, "buckets" => [] }].each do |odd|
      text.add("skep_node_mold", odd, node: odd)
      text.add("skep_handler_seconds", odd, work: 0)
      text.add("skep_node_done_total", odd, node: 0)
    end
    assert_equal "", text.to_s
  end
end
