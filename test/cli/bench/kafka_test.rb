# frozen_string_literal: true

require "test_helper"
require "skep/cli"
require "skep/cli/bench/parts"
require "skep/cli/bench/kafka"

class KafkaBenchTest < Skep::TestCase
  test "says what it lacks where there is no real broker" do
    with_broker(nil) do
      report = Skep::CLI::Bench::Kafka.new(rounds: 1, messages: 10, sums: 10).run
      assert_operator report.rows.count, :>, 10
      report.rows.each { |row| assert_match(/real broker|karafka-rdkafka|kcat/, row.skipped) }
      assert_equal [nil], report.goals.map(&:met?).uniq
    end
  end

  private

  def with_broker(program)
    before = ENV.fetch("SKEP_KAFKA_BROKER", nil)
    ENV["SKEP_KAFKA_BROKER"] = program
    yield
  ensure
    ENV["SKEP_KAFKA_BROKER"] = before
  end
end
