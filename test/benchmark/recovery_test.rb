# frozen_string_literal: true

require "test_helper"
require "json"
require_relative "../../benchmark/command"
require_relative "../../benchmark/recovery"

# `bin/bench recovery`, in a process of its own: it makes itself the subreaper.
class RecoveryBenchmarkTest < Skep::TestCase
  BENCHMARK = File.expand_path("../../benchmark", __dir__)
  PROGRAM = <<~RUBY
    require "#{BENCHMARK}/command"
    require "#{BENCHMARK}/recovery"
    class Recovery < Skep::Benchmarks::Recovery
      def subjects = super.select { |each| each.name.start_with?(*ARGV) }
    end
    puts Recovery.new(rounds: 1, kills: 3, heap: 1, seconds: 60).run.to_json
    puts Skep::Benchmarks::ProcessTree.below("self").inspect
  RUBY
  private_constant :BENCHMARK, :PROGRAM

  test "times the bare loop and skep with both heaps, and leaves no process" do
    report = measure("a bare loop", "skep")
    rows = report["rows"].to_h { |row| [row["name"], row] }
    assert_equal ["a small heap", "a heap of 1 MiB"], report["rows"].map { |row| row["group"] }.uniq
    names = ["a bare loop, a small heap", "skep, a small heap", "skep, a heap of 1 MiB"]
    return names.each { |name| assert_match(/C part/, rows[name]["skipped"]) } unless possible?

    names.each { |name| assert_figures rows[name] }
    assert_equal [1.2, 3, 5] * 2, report["goals"].map { |goal| goal["limit"] }
  end

  test "times a peer, or reports what to install" do
    rows = measure("a bare loop, ", "skep", "Puma")["rows"].to_h { |row| [row["name"], row] }
    puma = rows["Puma, a small heap"]
    puma["skipped"] ? assert_match(/the gem puma|C part/, puma["skipped"]) : assert_figures(puma)
  end

  test "names every peer once" do
    names = Skep::Benchmarks::Recovery.new.subjects.map(&:name)
    assert_equal names.uniq, names
    assert_equal 20, names.size
  end

  private

  def possible? = Skep::Benchmarks::ServerRun.refusal.nil?

  def measure(*names)
    out, err, status = run_program(PROGRAM, names, gems: :bundler, timeout: 120)
    assert_predicate status, :success?, err
    *, json, left = out.lines
    assert_equal "[]", left.chomp
    JSON.parse(json)
  end

  def assert_figures(row)
    assert_nil row["skipped"], row["name"]
    assert_operator row["median"], :>, 0
    assert_operator row["more"]["worst"]["median"], :>=, row["median"]
    assert_equal 3, row["more"]["kills"]["median"]
  end
end
