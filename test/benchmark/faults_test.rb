# frozen_string_literal: true

require "test_helper"
require "json"
require_relative "../../benchmark/command"
require_relative "../../benchmark/faults"

# `bin/bench faults` and `bin/demo --against karafka`, in processes of their own: each makes itself
# the subreaper. With the embedded broker.
class FaultsBenchmarkTest < Skep::TestCase
  BENCHMARK = File.expand_path("../../benchmark", __dir__)
  PROGRAM = <<~RUBY
    require "#{BENCHMARK}/command"
    require "#{BENCHMARK}/faults"
    class Faults < Skep::Benchmarks::Faults
      def subjects = super.select { |each| each.name.match?(ARGV.first) }
    end
    sizes = { calm: 1, start: 600, patience: 600, defaults: false }
    puts Faults.new(rounds: 1, **sizes).run.to_json
    puts Skep::Benchmarks::ProcessTree.below("self").inspect
  RUBY
  FAULTS = ["killed", "hung", "poison", "supervisor killed", "supervisor killed, stuck"].freeze
  private_constant :BENCHMARK, :PROGRAM, :FAULTS

  test "skep recovers from each fault, and no process is left" do
    rows = measure(": skep")
    assert_equal FAULTS, rows.keys.map { |name| name[/\A[^:]+/] }
    return assert_skipped(rows) unless possible?

    assert_empty rows.values.filter_map { |row| row["skipped"] }
    hung = rows.keys.grep(/\Ahung/).first
    assert_operator rows.dig(hung, "median"), :>=, 2 # its liveness_timeout
    assert_operator rows.dig("poison: skep", "more", "crashes", "median"), :>=, 3
  end

  test "Karafka's swarm runs beside it, and each program's settings and version are told" do
    rows = measure("^killed: Karafka")
    assert_equal ["killed: Karafka's swarm, best settings"], rows.keys
    rows.each_value do |row|
      assert_equal 1_000, row.dig("settings", "options", "supervision_interval")
      next assert_match(/C part|the gem karafka/, row["skipped"]) unless possible? && row["version"]

      assert row["never"] || row["median"], row["skipped"]
    end
  end

  private

  def assert_skipped(rows)
    rows.each_value { |row| assert_match(/C part|karafka-rdkafka/, row["skipped"]) }
  end

  def possible?
    Skep::Benchmarks::ServerRun.refusal.nil? && Gem.loaded_specs.key?("karafka-rdkafka")
  end

  def measure(pattern)
    out, err, status = run_program(PROGRAM, [pattern], gems: :bundler, timeout: 1_200,
                                                       env: { "SKEP_KAFKA_BROKER" => nil })
    assert_predicate status, :success?, err
    *, json, left = out.lines
    assert_equal "[]", left.chomp
    JSON.parse(json)["rows"].to_h { |row| [row["name"], row] }
  end
end
