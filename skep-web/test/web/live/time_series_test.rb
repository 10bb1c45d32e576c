# frozen_string_literal: true

require "test_helper"
require "skep/web"

# The numbers of a chart.
class WebTimeSeriesTest < Skep::TestCase
  test "a step has the last numbers that were added in it, once the step has ended" do
    series = Skep::Web::Live::TimeSeries.new
    assert_nil series.add({ "a" => 1 }, 0.0)
    assert_nil series.add({ "a" => 2 }, 5.9)
    assert_equal({ at: 0, numbers: { "a" => 2 } }, series.add({ "a" => 3, "b" => nil }, 6.0))
    assert_equal [2], series.to_h(8.0)[:lines]["a"].compact
  end

  test "half an hour is kept" do
    series = Skep::Web::Live::TimeSeries.new
    series.add({ "a" => 1 }, 0.0)
    (2..400).each { |step| series.add({ "c" => step }, step * 6.0) }
    lines = series.to_h(2400.0)[:lines]
    assert_equal [["c"], 300], [lines.keys, lines["c"].compact.size]
  end

  test "numbers of before are put before those that are known, which stay" do
    series = Skep::Web::Live::TimeSeries.new
    [60.0, 66.0, 72.0].each { |now| series.add({ "a" => now.round }, now) }
    series.fill({ "at" => [0.0, 15.0, 60.0], "lines" => { "a" => [1, 2, 9], "b" => [nil, 5, nil],
                                                          "c" => [nil, nil, nil] } })
    lines = series.to_h(78.0)[:lines]
    assert_equal({ "a" => [1, 2, 60, 66], "b" => [5] }, lines.transform_values(&:compact))
    series.add({ "a" => 1 }, 1830.0) # what is older than half an hour goes
    series.add({ "a" => 2 }, 1842.0)
    assert_equal [60, 66, 72, 1], series.to_h(1842.0)[:lines]["a"].compact
  end

  test "restarts, reloads and new revisions are marks" do
    series = Skep::Web::Live::TimeSeries.new
    old, new = "a" * 12, "b" * 12
    events = [["swarm_started", 60, old], ["node_ready", 66, nil], ["restart_started", 72, old],
              ["restart_finished", 78, old], ["reload_started", 84, old],
              ["mold_ready", 90, new], ["reload_finished", 96, new]]
    events.each do |event, mono, revision|
      series.mark({ "event" => event, "mono" => mono, "revision" => revision })
    end
    marks = [[10, "start"], [12, "restart"], [14, "reload"], [16, "revision bbbbbbb"]]
    assert_equal(marks, series.to_h(100)[:marks].map(&:values))
    assert_equal([[16, "revision bbbbbbb"]], series.to_h(1890)[:marks].map(&:values))
    [Skep::Control::EventGap.new(1), { "event" => "reload_started" }].each do |odd|
      assert_nil series.mark(odd)
    end
  end
end
