# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"

class KafkaFinalTest < Skep::TestCase
  class NoOrder < StandardError
    include Skep::Kafka::NonRetryable
  end
  Testing = Skep::Kafka::Testing
  private_constant :NoOrder, :Testing

  test "a message whose error is final goes to the dead letters at once" do
    outcome = run_with(batch: 1, dead_letter: "dead") { |text| raise NoOrder, "no" if text == "b" }

    assert_equal %w[a c], outcome.done.map(&:payload)
    assert_equal [["b", "1"]], letters(outcome)
    assert_empty outcome.retried
  end

  test "amid others it is found first, and tried alone once" do
    tries = []
    outcome = run_with(dead_letter: "dead") do |text|
      tries << text
      raise IOError.new("no").extend(Skep::Kafka::NonRetryable) if text == "b"
    end

    assert_equal [["b", "1"]], letters(outcome)
    assert_equal({ "a" => 2, "b" => 2, "c" => 1 }, tries.tally)
  end

  test "without a topic for dead letters it is tried again as any other" do
    outcome = run_with(batch: 1) { |text| raise NoOrder, "no" if text == "b" }

    assert_operator outcome.retried.size, :>, 3
    assert_equal %w[b c], outcome.left.map(&:payload)
  end

  test "a pause says how loud it is told" do
    child = Testing.child
    Testing.run(source, ["a"], child:, retries: 1) { |batch, _| batch.pause(3, level: :debug) }

    assert_includes child.events.map { |name, level, _| [name, level] }, %i[kafka_paused debug]
  end

  private

  def run_with(**options)
    Testing.run(source(**options), %w[a b c]) do |batch, _|
      batch.each { |message| yield message.payload }
    end
  end

  def source(**options)
    Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "none" }, group: "g", topics: "t",
                            **options)
  end

  def letters(outcome)
    outcome.dead_letters.map { |letter| [letter.payload, letter.headers["skep.attempts"]] }
  end
end
