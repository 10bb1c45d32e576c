# frozen_string_literal: true

require "test_helper"
require_relative "../../benchmark/command"
require_relative "../../benchmark/threads"

class ThreadsBenchmarkTest < Skep::TestCase
  SIZES = { milliseconds: 10, fib: 5, tasks: 2 }.freeze
  private_constant :SIZES

  # Measured once for all tests.
  def self.report = @report ||= Skep::Benchmarks::Threads.new(rounds: 1, **SIZES).run

  def report = self.class.report

  test "measures shares, blocked threads and computations" do
    assert_empty report.rows.map(&:skipped).compact
    shares, beside, computing = report.rows.groups.values
    assert_equal ["share of the work, %"], shares.flat_map { |row| row.columns.keys }.uniq
    assert_equal 8, beside.size
    assert_equal ["one by one", "in a thread each", "in a forked process each"],
                 computing.map(&:name)
  end

  test "has the derived figures and the goal" do
    assert_equal ["threads, times as fast as one by one", "forked processes, times as fast"],
                 report.derived.map(&:name)
    assert(report.derived.all?(&:figure))
    assert_equal [["beside 99 threads blocked in Queue#pop", 1.1]],
                 (report.goals.map { |goal| [goal.name, goal.limit] })
  end
end
