# frozen_string_literal: true

require "test_helper"
require "skep/web"

# The numbers of a chart.
class WebTimeSeriesTest < Skep::TestCase
  test "a step has the last numbers that were added in it, once the step has ended" do
    series = Skep::Web::Live::TimeSeries.new
    assert_nil series.add({ "a" => 1 }, 0.0)
    assert_nil series.add({ "a" => 2 }, 2.9)
    assert_equal({ at: 0, numbers: { "a" => 2 } }, series.add({ "a" => 3, "b" => nil }, 3.0))
    assert_equal [2], series.to_h(5.0)[:lines]["a"].compact
  end

  test "a quarter of an hour is kept" do
    series = Skep::Web::Live::TimeSeries.new
    series.add({ "a" => 1 }, 0.0)
    (2..400).each { |step| series.add({ "c" => step }, step * 3.0) }
    lines = series.to_h(1200.0)[:lines]
    assert_equal [["c"], 300], [lines.keys, lines["c"].compact.size]
  end
end
