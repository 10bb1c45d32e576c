# frozen_string_literal: true

require "test_helper"
require "json"
require_relative "../../benchmark/command"
require_relative "../../benchmark/deploy"

# `bin/bench deploy`, in a process of its own: it makes itself the subreaper. With the embedded
# broker.
class DeployBenchmarkTest < Skep::TestCase
  BENCHMARK = File.expand_path("../../benchmark", __dir__)
  PROGRAM = <<~RUBY
    require "#{BENCHMARK}/command"
    require "#{BENCHMARK}/deploy"
    class Deploy < Skep::Benchmarks::Deploy
      def subjects = super.select { |each| each.name.match?(ARGV.first) }
    end
    sizes = { calm: 1, start: 600, patience: 600, defaults: false, models: 3 }
    puts Deploy.new(rounds: 1, **sizes).run.to_json
    puts Skep::Benchmarks::ProcessTree.below("self").inspect
  RUBY
  private_constant :BENCHMARK, :PROGRAM

  test "skep's messages arrive through both deploys, and no process is left" do
    rows = measure("(?:reload|start): skep")
    assert_equal ["reload: skep", "stop and start: skep"], rows.keys
    rows.each_value { |row| assert_measured(row) }
  end

  private

  def assert_measured(row)
    return assert_match(/C part|gem/, row["skipped"]) unless possible?(row)

    assert row["median"], row["skipped"]
    assert_operator row["median"], :>=, row.dig("more", "p99", "median")
    assert_equal 3, row.dig("settings", "models")
  end

  def possible?(row)
    Skep::Benchmarks::ServerRun.refusal.nil? && row["version"] &&
      %w[railties sqlite3 karafka-rdkafka].all? { |gem| Skep::Benchmarks::Peer.find(gem) }
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
