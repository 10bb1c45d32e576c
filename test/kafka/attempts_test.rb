# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"

# How often a message has failed is counted for that message, or for its key, alone.
class KafkaAttemptsTest < Skep::TestCase
  Testing = Skep::Kafka::Testing
  private_constant :Testing

  test "messages that each fail once are all handled, and each rests for the first backoff" do
    %i[partition key].each do |ordered_by|
      tries = Hash.new(0)
      outcome = rehearse(20, ordered_by:) do |batch|
        batch.each { |message| raise "first" if (tries[message.offset] += 1) == 1 }
      end

      assert_equal (0...20).to_a, outcome.done.map(&:offset), ordered_by
      assert_empty outcome.dead_letters
      assert_equal [1], (outcome.retried.map { |one| one[:attempt] }).uniq, ordered_by
      assert_operator outcome.retried.map { |one| one[:seconds] }.max, :<=, 0.12, ordered_by
    end
  end

  test "half of a batch by key doesn't inherit the failures of the whole" do
    calls = 0
    outcome = rehearse(20, ordered_by: :key) { raise "away" if (calls += 1) <= 45 }

    assert_equal (0...20).to_a, outcome.done.map(&:offset)
    assert_empty outcome.dead_letters
  end

  test "a message of a key is dead-lettered with the number of its own failures" do
    tries = Hash.new(0)
    outcome = rehearse(20, ordered_by: :key) do |batch|
      batch.each do |message|
        tries[message.offset] += 1
        raise "first" if tries[message.offset] == 1 || [3, 7].include?(message.offset)
      end
    end

    assert_equal [3, 7], outcome.buried.map(&:offset).sort
    assert_equal %w[5 5], outcome.dead_letters.map { |one| one.headers["skep.attempts"] }
    assert_equal [5, 5], tries.values_at(3, 7)
  end

  test "a look through the batch changes nothing about which message failed" do
    outcome = rehearse(20, ordered_by: :key) do |batch|
      batch.each do |message|
        batch.find { |other| other.key == "none" }
        raise "bad" if message.payload == "7"
      end
    end

    assert_equal [7], outcome.buried.map(&:offset)
    assert_equal 19, outcome.done.size
  end

  # What librdkafka takes a pattern to match may differ from what Options does.
  test "a message of the dead letter topic isn't written there again, and is told of" do
    letter = { topic: "dead", payload: "bad", headers: { "skep.topic" => "t" } }
    outcome = Testing.run(source, [letter, "bad"]) { raise "bad" }

    assert_equal([["t", 0]], outcome.buried.map { |one| [one.topic, one.offset] })
    assert_equal(["dead"], outcome.left.map(&:topic))
    told = outcome.child.events.select { |name,| name == :not_dead_lettered }
    assert_equal([[:warn, "dead", 0]],
                 told.map { |_, level, facts| [level, *facts.values_at(:topic, :offset)] })
  end

  test "a message that was a dead letter before keeps where it came from" do
    headers = { "skep.topic" => "first", "skep.partition" => "3", "skep.offset" => "9",
                "skep.error" => "old", "other" => "x" }
    outcome = Testing.run(source, [{ payload: "bad", headers: }]) { raise "new" }
    found = outcome.dead_letters.first.headers

    assert_equal [%w[first 3 9 x], "RuntimeError: new"],
                 [found.values_at("skep.topic", "skep.partition", "skep.offset", "other"),
                  found["skep.error"]]
  end

  private

  def rehearse(count, **options)
    messages = Array.new(count) { |n| { key: "k#{n}", payload: n.to_s } }
    Testing.run(source(**options), messages) { |batch, _| yield batch }
  end

  def source(**options)
    Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "none" }, group: "g", topics: "t",
                            dead_letter: "dead", **options)
  end
end
