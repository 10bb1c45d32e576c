# frozen_string_literal: true

require "test_helper"
require "json"
require "stringio"
require "tmpdir"
require "skep/cli"
require "skep/cli/bench"
require "skep/cli/bench/parts"
require "skep/cli/bench/pid"
require "skep/cli/bench/fork"

# `skep bench` as a whole; each bench once, with the smallest sizes.
class BenchTest < Skep::TestCase
  Bench = Skep::CLI::Bench
  private_constant :Bench

  test "lists the benches when none is named" do
    code, out, err = bench
    assert_equal [0, ""], [code, err]
    Bench::BENCHES.each_key { |name| assert_match(/^  #{name} +\w+/, out) }
  end

  test "what can't be is said in a sentence, before anything is measured" do
    Dir.mktmpdir do |folder|
      { %w[nothing] => /there is no bench "nothing", but pid, fork/,
        %w[pid fork] => /"fork" is too much/, %w[pid --rounds 0] => /--rounds 0 can't be/,
        %w[pid --rounds x] => /invalid argument: --rounds x/,
        ["pid", "--plot", "#{folder}/no/a.svg"] => %r{there is no folder #{folder}/no for the plot},
        ["pid", "--plot", folder] => /#{folder} is a folder: name a file/ }.each do |argv, sentence|
        code, out, err = bench(*argv)
        assert_equal [64, "", 1], [code, out, err.lines.size]
        assert_match(/\Askep: .*#{sentence}/, err)
      end
    end
  end

  test "bench pid measures each way to ask, by --json in one line" do
    told = JSON.parse(Bench::Pid.new(rounds: 2, turns: 10).run.to_json)
    assert_equal ["pid", "ns", 2], told.values_at("bench", "unit", "rounds")
    assert_equal %w[cores cpu kernel libc ruby], told["machine"].keys.sort
    rows = told["rows"].to_h { |row| [row["name"], row] }
    assert_kind_of Numeric, rows.dig("a plain global", "median")
    assert_kind_of Numeric, rows.dig("Skep.pid", "ratio")
    rows.each_value { |row| assert row["skipped"] || row["median"], row["name"] }
    assert_equal 3, told["goals"].size
  end

  test "bench fork measures every contender that it doesn't skip" do
    report = Bench::Fork.new(rounds: 1, milliseconds: 2, million: 100).run
    assert_kind_of Numeric, report.rows["a bare Ruby"].median
    assert_kind_of Numeric, report.rows["100 Skep.on_fork callbacks, child"].median
    failed = report.rows.select { |row| row.skipped.to_s.start_with?("failed") }
    assert_empty(failed.map { |row| [row.name, row.skipped] })
    assert_equal 3, report.goals.size
    assert_equal report.findings.map(&:name).uniq, report.findings.map(&:name)
  end

  test "prints a table and draws a plot" do
    Dir.mktmpdir do |folder|
      code, out, err = bench("pid", "--rounds", "1", "--plot", "#{folder}/pid.svg")
      assert_equal [0, ""], [code, err]
      assert_match(/\Askep bench pid: what asking.*\n.*Linux.*\nskep \d.*\n1 round/, out)
      assert_match(/^the global +ns +quartiles +x a plain global$/, out)
      assert_match(/^  a plain global +[\d.]+ +[\d.]+ +1\.00$/, out)
      assert_match(/^  (met|missed) +Skep\.pid within 1\.15x of an empty C method: [\d.]+ \(/, out)
      assert_includes File.read("#{folder}/pid.svg"), ">a plain global</text>"
    end
  end

  test "prints its figures though the plot can't be written" do
    code, out, err = bench("pid", "--rounds", "1", "--json", "--plot", "/dev/full")
    assert_equal [1, "pid"], [code, JSON.parse(out)["bench"]]
    assert_match(/\Askep: the plot can't be written: No space left/, err)
  end

  test "prints one line of JSON and nothing else, whether goals are met or not" do
    code, out, err = bench("pid", "--rounds", "1", "--json")
    assert_equal [0, "", 1], [code, err, out.lines.size]
    assert_equal "pid", JSON.parse(out)["bench"]
  end

  private

  def bench(*argv)
    out = StringIO.new
    err = StringIO.new
    [Skep::CLI.start(["bench", *argv], out:, err:), out.string, err.string]
  end
end
