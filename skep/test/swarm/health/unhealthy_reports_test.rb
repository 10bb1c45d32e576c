# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class UnhealthyReportsTest < Skep::TestCase
  test "one report doesn't make a node unhealthy" do
    assert_in_delta 30.0, decide([100.0], 100.0, 100.0)
  end

  test "a report that progress follows doesn't make a node unhealthy" do
    assert_nil decide([100.0], nil, 200.0)
  end

  test "three reports within the timeout make a node unhealthy" do
    assert_equal :repeated, decide([100.0, 104.0, 108.0], 100.0, 108.0)
  end

  test "three reports make a node unhealthy even with progress in between" do
    assert_equal :repeated, decide([100.0, 104.0, 108.0], nil, 108.0)
  end

  test "counts reports close to each other as one" do
    assert_in_delta 29.7, decide([100.0, 100.1, 100.2, 100.3], 100.0, 100.3)
    assert_equal 2, reports([100.0, 101.0, 102.0, 103.0, 104.0]).count(104.0, 30.0)
  end

  test "counts reports that come slightly before the minimum spacing" do
    assert_equal 3, reports([100.0, 102.99, 105.99]).count(106.0, 30.0)
  end

  test "ignores reports older than the timeout" do
    assert_nil decide([100.0, 110.0, 130.5], nil, 130.5)
  end

  test "one report without progress for a whole timeout makes a node unhealthy" do
    assert_in_delta 0.5, decide([100.0], 100.0, 129.5)
    assert_equal :lasting, decide([100.0], 100.0, 130.0)
  end

  test "returns :lasting without any received report" do
    assert_equal :lasting, decide([], 100.0, 130.0)
  end

  private

  def reports(times)
    Skep::Swarm::Health::UnhealthyReports.new.tap do |reports|
      times.each { |at| reports.add("no database", at) }
    end
  end

  def decide(times, since, now) = reports(times).verdict(since, now, 30.0)
end
