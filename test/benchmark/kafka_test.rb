# frozen_string_literal: true

require "test_helper"
require "json"

# `bin/bench kafka`, in processes of its own: it makes itself the subreaper.
class KafkaBenchmarkTest < Skep::TestCase
  BENCHMARK = File.expand_path("../../benchmark", __dir__)
  BROKER = "SKEP_KAFKA_BROKER"
  SMALL = <<~RUBY
    require "#{BENCHMARK}/command"
    require "#{BENCHMARK}/kafka"
    small = { messages: 200_000, sums: 8_000, calm: 12, idle: 2, large: 40 }
    puts Skep::Benchmarks::Kafka.new(rounds: 1, **small).run.to_json
  RUBY
  private_constant :BENCHMARK, :BROKER, :SMALL

  test "skips each row with a reason if there is no real broker" do
    report = measure(BROKER => nil)
    assert_operator report["rows"].size, :>, 10
    report["rows"].each { |row| assert_match(/real broker|karafka-rdkafka|kcat/, row["skipped"]) }
    assert_equal [nil], report["goals"].map { |goal| goal["met"] }.uniq
  end

  test "measures each consumer that is installed" do
    skip "#{BROKER} names no program that starts a broker" unless ENV[BROKER]
    report = measure(BROKER => ENV.fetch(BROKER))
    measured = report["rows"].select { |row| row["median"] }
    assert_empty report["rows"].filter_map { |row| row["skipped"] }.grep(/failed|nothing was read/)
    assert_includes measured.map { |row| row["name"] }, "skep"
    measured.each { |row| assert_operator row["median"], :>, 0 }
    names = ["skewed: skep", "the same spread evenly: skep", "idle: skep",
             "sparse: skep", "990 kB: skep", "4 at once: skep"]
    assert_empty names - measured.map { |row| row["name"] }
  end

  private

  def measure(env)
    out, err, status = run_program(SMALL, env:, timeout: 300, gems: :bundler)
    assert_equal ["", true], [err, status.success?]
    JSON.parse(out)
  end
end
