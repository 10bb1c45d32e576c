# frozen_string_literal: true

require "test_helper"
require "json"
require "stringio"
require_relative "../../benchmark/command"
require_relative "../../benchmark/pid"
require_relative "../../benchmark/fork"

# `bin/bench` as a whole; each bench once, with the smallest sizes.
class BenchmarkCommandTest < Skep::TestCase
  Benchmarks = Skep::Benchmarks
  private_constant :Benchmarks

  test "lists the benchmarks when none is named" do
    code, out, err = bench
    assert_equal [0, ""], [code, err]
    Benchmarks::Command::NAMES.each_key { |name| assert_match(/^ +#{name} +\w+/, out) }
  end

  test "a wrong command line is reported in a sentence, before anything is measured" do
    { %w[nothing] => /unknown benchmark "nothing": use pid, fork/,
      %w[pid fork] => /unexpected argument: fork/,
      %w[pid --rounds 0] => /--rounds must be at least 1 \(got 0\)/,
      %w[pid --rounds x] => /invalid argument: --rounds x/,
      %w[pid --against /] => %r{--against: / is no checkout of skep} }.each do |argv, sentence|
      code, out, err = bench(*argv)
      assert_equal [64, "", 1], [code, out, err.lines.size]
      assert_match(/\Abench: .*#{sentence}/, err)
    end
  end

  test "bench pid measures each way to get the pid, and its JSON is one line" do
    report = JSON.parse(Benchmarks::Pid.new(rounds: 2, turns: 10).run.to_json)
    assert_equal ["pid", "ns", 2], report.values_at("benchmark", "unit", "rounds")
    assert_equal %w[cores cpu kernel libc load memory ruby], report["machine"].keys.sort
    rows = report["rows"].to_h { |row| [row["name"], row] }
    assert_kind_of Numeric, rows.dig("a plain global", "median")
    assert_kind_of Numeric, rows.dig("Skep.pid", "ratio")
    rows.each_value { |row| assert row["skipped"] || row["median"], row["name"] }
    assert_equal 3, report["goals"].size
  end

  test "bench fork measures every subject that it doesn't skip" do
    report = Benchmarks::Fork.new(rounds: 1, milliseconds: 2, million: 100).run
    assert_kind_of Numeric, report.rows["a bare Ruby"].median
    assert_kind_of Numeric, report.rows["100 Skep.on_fork callbacks, child"].median
    failed = report.rows.select { |row| row.skipped.to_s.start_with?("failed") }
    assert_empty(failed.map { |row| [row.name, row.skipped] })
    assert_equal 3, report.goals.size
    assert_equal report.derived.map(&:name).uniq, report.derived.map(&:name)
  end

  test "prints a table" do
    code, out, = bench("pid", "--rounds", "1")
    assert_equal 0, code
    assert_match(%r{\Abin/bench pid: what asking.*\n.*Linux.*YJIT.*\nskep \d.*\n1 round}, out)
    assert_match(/^the global +ns +quartiles +x a plain global$/, out)
    assert_match(/^  a plain global +[\d.]+ +[\d.]+ +1\.00$/, out)
    assert_match(/^  (met|missed) +Skep\.pid within 1\.15x of an empty C method: [\d.]+ \(/, out)
  end

  test "prints one line of JSON and nothing else, whether goals are met or not" do
    code, out, = bench("pid", "--rounds", "1", "--json")
    assert_equal [0, 1], [code, out.lines.size]
    assert_equal "pid", JSON.parse(out)["benchmark"]
  end

  test "writes the time and the figure of each measurement to stderr, as it goes" do
    _, out, err = bench("pid", "--rounds", "2", "--json")
    measured = JSON.parse(out)["rows"].count { |row| row["median"] }
    assert_equal 2 * measured, err.lines.size
    assert_match(/^\d\d:\d\d:\d\d round 1 of 2: a plain global \.\.\. [\d.]+ ns \([\d.]+ s\)$/, err)
  end

  test "an interrupted measurement leaves the rest of its line to the error" do
    err = StringIO.new
    progress = Benchmarks::Command.class_eval("Progress", __FILE__, __LINE__).new(err)
    progress.start("round 1 of 1: skep")
    progress.close
    assert_match(/\A[\d:]+ round 1 of 1: skep \.\.\.\n\z/, err.string)
  end

  private

  def bench(*argv)
    out = StringIO.new
    err = StringIO.new
    [Benchmarks::Command.start(argv, out:, err:), out.string, err.string]
  end
end
