# frozen_string_literal: true

require "test_helper"
require "json"
require_relative "../../benchmark/command"
require_relative "../../benchmark/refork"

# `bin/bench refork`, in a process of its own: it makes itself the subreaper.
class ReforkBenchmarkTest < Skep::TestCase
  BENCHMARK = File.expand_path("../../benchmark", __dir__)
  PROGRAM = <<~RUBY
    require "#{BENCHMARK}/command"
    require "#{BENCHMARK}/refork"
    class Refork < Skep::Benchmarks::Refork
      def servers = super.select { |each| ARGV.include?(each.name) }
      def goals(_rows) = []
    end
    progress = Skep::Benchmarks::Command::Progress.new($stderr)
    puts Refork.new(rounds: 2, workers: 2, models: 3, seconds: 3, last: 1, rate: 20, progress:).run
               .to_json
    puts Skep::Benchmarks::ProcessTree.below("self").inspect
  RUBY
  private_constant :BENCHMARK, :PROGRAM

  test "measures each server's memory under load, and leaves no process" do
    names = ["skep, preloaded", "skep, reforked", "Pitchfork, preloaded"]
    report = measure(*names)
    assert_equal names, report["rows"].map { |row| row["name"] }
    report["rows"].each { |row| row["skipped"] ? assert_skipped(row) : assert_figures(row) }
  end

  test "goals compare skep with plain preloading, and with Pitchfork's best" do
    rows = Hash.new(300.0)
    def rows.ratio(_name, _other) = 0.9
    def rows.median(name) = name.start_with?("Pitch") ? 200.0 : 190.0
    goals = Skep::Benchmarks::Refork.new.goals(rows)
    assert_equal [0.9, 0.95] * 2, goals.map(&:figure)
    assert goals.all?(&:met?)
  end

  private

  def assert_skipped(row) = assert_match(/the gem \w+ isn't in reach|C part/, row["skipped"])

  def assert_figures(row)
    assert_operator row["median"], :>, row["more"]["a worker's USS"]["median"]
    assert_operator row["more"]["pages served"]["median"], :>, 0
    assert_equal ["after 0 s", "after 1 s", "after 2 s"], row["more"].keys.grep(/after/)
  end

  def measure(*names)
    out, err, status = run_program(PROGRAM, names, gems: :bundler, timeout: 240)
    assert_predicate status, :success?, err
    *, json, left = out.lines
    assert_equal "[]", left.chomp
    JSON.parse(json)
  end
end
