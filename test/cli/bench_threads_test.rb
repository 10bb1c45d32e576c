# frozen_string_literal: true

require "test_helper"
require "skep/cli"
require "skep/cli/command"
require "skep/cli/bench"
require "skep/cli/bench/parts"
require "skep/cli/bench/threads"

class BenchThreadsTest < Skep::TestCase
  SIZES = { milliseconds: 10, fib: 5, tasks: 2 }.freeze
  private_constant :SIZES

  # Measured once for all tests.
  def self.report = @report ||= Skep::CLI::Bench::Threads.new(rounds: 1, **SIZES).run

  def report = self.class.report

  test "measures shares, blocked threads and computations" do
    assert_empty report.rows.map(&:skipped).compact
    shares, beside, computing = report.rows.groups.values
    assert_equal ["share of the work, %"], shares.flat_map { |row| row.columns.keys }.uniq
    assert_equal [0, 4, 9, 99] * 2, beside.map { |row| row.contender.x }
    assert_equal %w[Queue#pop Thread.pass], beside.map { |row| row.contender.series }.uniq
    assert_equal ["one by one", "in a thread each", "in a forked process each"],
                 computing.map(&:name)
  end

  test "says what follows, and asks whether the goal is met" do
    assert_equal ["threads, times as fast as one by one", "forked processes, times as fast"],
                 report.findings.map(&:name)
    assert(report.findings.all?(&:figure))
    assert_equal [["beside 99 threads blocked in Queue#pop", 1.1]],
                 (report.goals.map { |goal| [goal.name, goal.limit] })
  end
end
