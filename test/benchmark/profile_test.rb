# frozen_string_literal: true

require "test_helper"
require_relative "../../benchmark/command"
require_relative "../../benchmark/profile"

class ProfileBenchmarkTest < Skep::TestCase
  test "measures a swarm with and without a profile, and compares them by rounds" do
    report = Skep::Benchmarks::Profile.new(rounds: 1, nodes: 2, seconds: 0.5).run
    assert_empty report.rows.map(&:skipped).compact
    assert_equal ["without a profile", "beside a profile"], report.rows.map(&:name)
    report.rows.each { |row| assert_operator row.median, :>, 0 }
    assert_operator report.rows["beside a profile"].columns.keys.size, :>, 2
    assert_equal [0.98], report.goals.map(&:limit)
    assert_equal ["ratio in each round", "by the clock"], report.derived.map(&:name)
  end
end
