# frozen_string_literal: true

require "test_helper"
require_relative "../../benchmark/command"
require_relative "../../benchmark/pool"

class PoolBenchmarkTest < Skep::TestCase
  SIZES = { threads: 3, jobs: 4, short: 1, long: 3, milliseconds: 1 }.freeze
  WAYS = ["Thread.pass", "Queue#pop", "concurrent-ruby", "Pool#run", "Pool#run, help: false"].freeze
  COLUMNS = ["µs a job", "CPU µs a job", "the caller's", "calls a wait"].freeze
  private_constant :SIZES, :WAYS, :COLUMNS

  # Measured once for all tests.
  def self.report = @report ||= Skep::Benchmarks::Pool.new(rounds: 1, **SIZES).run

  def report = self.class.report

  test "measures each way with each kind of job, or skips it with a reason" do
    assert_equal(%w[no-op 1\ ms 3\ ms].flat_map { |job| WAYS.map { |way| "#{way}: #{job}" } },
                 report.rows.map(&:name))
    assert_empty report.rows.map(&:skipped).grep(/failed/)
    report.rows.each { |row| assert row.measured? ^ row.skipped, row.name }
    report.rows.select(&:measured?).each { |row| assert_equal COLUMNS, row.columns.keys, row.name }
  end

  test "compares each way with Queue#pop" do
    popping = report.rows.map { |row| report.rows.reference(row) }.uniq
    assert_equal ["Queue#pop: no-op", "Queue#pop: 1 ms", "Queue#pop: 3 ms"], popping
  end

  test "has a figure for each goal" do
    goals = report.goals.to_h { |goal| [goal.name, goal.limit] }
    assert_equal({ "Pool#run: no-op within 0.1x of Queue#pop" => 0.1,
                   "Pool#run, help: false: no-op within 0.9x of Queue#pop" => 0.9,
                   "Pool#run: 1 ms, all jobs in one round: rounds" => 1.5,
                   "Pool#run, help: false: 1 ms, all jobs in one round: rounds" => 1.5,
                   "Pool#run: 3 ms, fewer calls than Thread.pass: %" => 99.9,
                   "Pool#run: 3 ms, caller's CPU while waiting: %" => 1 }, goals)
    assert(report.goals.all?(&:figure))
  end

  # Four jobs: Queue#pop runs four times, from Ruby 3.3 on with several calls each. Thread.pass runs
  # as often as other processes give the core back.
  test "counts the calls that a wait takes" do
    calls = WAYS.to_h { |way| [way, report.rows.median("#{way}: 3 ms", column: "calls a wait")] }
    assert_includes 4..30, calls["Queue#pop"]
    assert_includes 1..30, calls["Pool#run"]
    assert_includes 1..30, calls["Pool#run, help: false"]
    assert_operator calls["Thread.pass"], :>=, 1
  end
end
