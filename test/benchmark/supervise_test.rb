# frozen_string_literal: true

require "test_helper"
require "json"
require_relative "../../benchmark/command"
require_relative "../../benchmark/supervise"

# `bin/bench supervise`, in a process of its own: it makes itself the subreaper.
class SuperviseBenchmarkTest < Skep::TestCase
  BENCHMARK = File.expand_path("../../benchmark", __dir__)
  PROGRAM = <<~RUBY
    require "#{BENCHMARK}/command"
    require "#{BENCHMARK}/supervise"
    SIZES = { rest: 0.2, crash: 1, idle: 1, still: 1, ending: 1, few: 2, more: 3, many: 4, kills: 2 }
    class Supervise < Skep::Benchmarks::Supervise
      def subjects = super.select { |each| each.name.match?(ARGV.first) }
      def goals(rows) = ARGV[1] == "goals" ? super : []
    end
    puts Supervise.new(rounds: 1, **SIZES, patience: ARGV.fetch(2, 1).to_f).run.to_json
    puts Skep::Benchmarks::ProcessTree.below("self").inspect
  RUBY
  private_constant :BENCHMARK, :PROGRAM

  test "measures many nodes, idleness and crash loops, and has a figure for each goal" do
    report = measure("nodes|idle: (skep|a bare)|crash loop: (skep|a bare)", "goals")
    rows = by_name(report)
    return assert_skipped(rows) unless possible?

    assert_empty rows.values.filter_map { |row| row["skipped"] }
    columns = ["the mold's", "ms to the replacement", "start s", "USS MiB", "status ms"]
    assert_equal columns, rows["4 nodes"]["more"].keys
    rates = ["a bare loop", "skep"].map { |name| rows["crash loop: #{name}"]["median"] }
    assert(rates.all?(&:positive?))
    assert_operator rates.last, :<, 30 # two slots: five restarts at once each, then backoffs
    assert_equal [2, 2, *[3] * 6], report["goals"].map { |goal| goal["limit"] }
    assert(report["goals"].all? { |goal| goal["figure"] })
  end

  test "measures replacements, and reports a node that is never replaced" do
    rows = by_name(measure("stopped: skep|stuck: skep, ", nil, 4))
    return assert_skipped(rows) unless possible?

    tuned = "skep, liveness_timeout 1, kill_timeout 1"
    assert_operator rows["stopped: #{tuned}"]["median"], :>, 1
    assert_operator rows["stuck: #{tuned}"]["median"], :>, 1
    assert_equal "never within 4.0 s", rows["stopped: skep"]["skipped"]
  end

  test "measures how long processes outlive their supervisor and a second TERM" do
    rows = by_name(measure("(orphaned|forced|busy): (skep|a bare)"))
    return assert_skipped(rows) unless possible?

    assert_equal "2 of 2 processes never within 1.0 s", rows["orphaned: a bare loop"]["skipped"]
    ["orphaned: skep", "forced: skep", "busy: skep"].each { |name| refute_nil rows[name]["median"] }
  end

  test "has a row for every server in every section" do
    rows = Skep::Benchmarks::Supervise.new.subjects.group_by(&:group).transform_values(&:size)
    assert_equal [13, 13, 8, 8, 8, 9, 7, 7, 3], rows.values
  end

  private

  def possible? = Skep::Benchmarks::ServerRun.refusal.nil?

  def by_name(report) = report["rows"].to_h { |row| [row["name"], row] }

  def assert_skipped(rows)
    rows.each_value { |row| assert_match(/skep's C part/, row["skipped"]) }
  end

  def measure(pattern, goals = nil, patience = 1)
    out, err, status = run_program(PROGRAM, [pattern, goals, patience], gems: :bundler,
                                   timeout: 120)
    assert_predicate status, :success?, err
    *, json, left = out.lines
    assert_equal "[]", left.chomp
    JSON.parse(json)
  end
end
