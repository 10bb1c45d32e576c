# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"
require "kafka/fuzz/run"

# The failures of a message are counted for that message, or for its key, alone.
class KafkaAttemptsTest < Skep::TestCase
  Testing = Skep::Kafka::Testing
  private_constant :Testing

  test "messages that each fail once are all processed after the first backoff" do
    %i[partition key].each do |ordered_by|
      tries = Hash.new(0)
      outcome = run_handler(20, ordered_by:) do |batch|
        batch.each { |message| raise "first" if (tries[message.offset] += 1) == 1 }
      end

      assert_equal (0...20).to_a, outcome.done.map(&:offset), ordered_by
      assert_empty outcome.dead_letters
      assert_equal [1], (outcome.retried.map { |one| one[:attempt] }).uniq, ordered_by
      assert_operator outcome.retried.map { |one| one[:retry_in] }.max, :<=, 0.12, ordered_by
    end
  end

  # As of a service that is overloaded: the whole batch never succeeds.
  test "a batch that fails at another message each time is done in the end" do
    [{}, { dead_letter_topic: nil }, { on_error: { StandardError => :retry } }].each do |options|
      random = Random.new(1)
      outcome = run_handler(100, max_messages: 100, **options) do |batch|
        batch.each { raise "refused" if random.rand < 0.1 }
      end

      assert_equal (0...100).to_a, outcome.done.map(&:offset), options
    end
  end

  test "half of a batch by key doesn't inherit the failures of the whole" do
    calls = 0
    outcome = run_handler(20, ordered_by: :key) { raise "away" if (calls += 1) <= 45 }

    assert_equal (0...20).to_a, outcome.done.map(&:offset)
    assert_empty outcome.dead_letters
  end

  test "a message of a key is dead-lettered with the number of its own failures" do
    tries = Hash.new(0)
    outcome = run_handler(20, ordered_by: :key) do |batch|
      batch.each do |message|
        tries[message.offset] += 1
        raise "first" if tries[message.offset] == 1 || [3, 7].include?(message.offset)
      end
    end

    assert_equal [3, 7], outcome.dead_lettered.map(&:offset).sort
    assert_equal %w[5 5], outcome.dead_letters.map { |one| one.headers["skep.attempts"] }
    assert_equal [5, 5], tries.values_at(3, 7)
  end

  test "a message is tried exactly max_attempts times, whatever batches it comes in" do
    %i[partition key].product([1, 4, 20], [2, 5]) do |ordered_by, max_messages, max_attempts|
      tries = Hash.new(0)
      outcome = run_handler(20, ordered_by:, max_messages:, max_attempts:) do |batch|
        batch.each do |message|
          tries[message.offset] += 1
          raise "bad" if [0, 7, 19].include?(message.offset)
        end
      end

      case_ = [ordered_by, max_messages, max_attempts]
      assert_equal [0, 7, 19], outcome.dead_lettered.map(&:offset).sort, case_
      assert_equal [max_attempts] * 3, tries.values_at(0, 7, 19), case_
      assert_equal [max_attempts.to_s], outcome.dead_letters.map { |one|
        one.headers["skep.attempts"]
      }.uniq, case_
    end
  end

  test "backoffs grow up to retry_backoff_max, which is retry_backoff at least" do
    [[{ retry_backoff: 10, retry_backoff_max: 700 }, 700], [{ retry_backoff: 10 }, 30],
     [{ retry_backoff: 90 }, 90]].each do |options, most|
      outcome = run_handler(20, ordered_by: :key, max_attempts: 12, **options) do |batch|
        batch.each { |message| raise "bad" if message.offset == 7 }
      end
      assert_equal most, outcome.retried.map { |one| one[:retry_in] }.max, options
    end
  end

  test "a loop over the batch before the failing one doesn't change which message failed" do
    outcome = run_handler(20, ordered_by: :key) do |batch|
      batch.each do |message|
        batch.find { |other| other.key == "none" }
        raise "bad" if message.payload == "7"
      end
    end

    assert_equal [7], outcome.dead_lettered.map(&:offset)
    assert_equal 19, outcome.done.size
  end

  test "a seek by key passes no message of another key that is unfinished before it" do
    { 6 => 6, :end => 20, 15 => 15 }.each do |place, offset|
      seen = []
      outcome = Skep::OS.run_on(HandlerFuzz::Clock.new) do # no backoff ends meanwhile
        run_handler(20, ordered_by: :key, max_messages: 1) do |batch|
          seen << batch.first_offset
          raise "twice" if batch.first_offset.zero? && seen.count(0) < 3

          batch.seek(place) if batch.first_offset == 6 && seen.count(6) == 1
        end
      end

      assert_equal [0, 1, 2, 3, 4, 5, 6, 0, 0, *offset...20], seen, place
      assert_equal 20, outcome.committed[["t", 0]]
      events = %i[kafka_seek_waiting].flat_map { |name| outcome.node.events_named(name) }
      assert_equal [[place.to_s, 0]], events.map { |facts| facts.values_at(:to, :offset) }
    end
  end

  test "a seek by key keeps the messages after its batch" do
    seen = []
    keys = %w[a b a c b a]
    messages = keys.map.with_index { |key, n| { key:, payload: n.to_s } }
    Testing.run(source(ordered_by: :key, max_messages: 1, retry_backoff: 1), messages) do |batch, _|
      seen << batch.first_offset
      raise "once" if batch.first_offset == 1 && seen.count(1) == 1

      batch.seek(5) if batch.first_offset == 2
    end

    assert_equal [0, 1, 2, 1, 5], seen
  end

  test "seeks by key to the current position skip nothing while other keys fail" do
    40.times do |seed|
      random = Random.new(seed)
      keys = Array.new(40) { "k#{random.rand(8)}" }
      failures, sought, done = Hash.new(0), {}, []
      options = { ordered_by: :key, threads: 1 + random.rand(4), max_messages: 1 + random.rand(8) }
      source = source(**options, dead_letter_topic: nil)
      outcome = Testing.run(source, keys.map { |key| { key: } }, retries: 100) do |batch, _|
        batch.each do |message|
          offset = message.offset
          raise "again" if random.rand < 0.2 && (failures[offset] += 1) < 3
          break batch.seek(offset) if random.rand < 0.15 && !sought[offset] && sought[offset] = true

          done << offset
        end
      end

      assert_equal [(0...40).to_a, 40], [done.uniq.sort, outcome.committed[["t", 0]]], seed
    end
  end

  test "of two seeks by key that wait, the one to the earlier place takes effect" do
    seen = []
    outcome = run_handler(12, ordered_by: :key, max_messages: 1, retry_backoff: 1) do |batch|
      seen << (offset = batch.first_offset)
      raise "once" if [0, 2].include?(offset) && seen.count(offset) == 1

      batch.seek(3) if offset == 3 && seen.count(3) == 1
      batch.seek(:end) if offset == 2
    end

    assert_equal [0, 1, 2, 3], seen.first(4)
    assert_equal [0, 2], seen[4, 2].sort # whichever of the two had the shorter backoff
    assert_equal [*3...12], seen.drop(6)
    assert_equal 12, outcome.committed[["t", 0]]
  end

  test "a seek by key passes over later messages of the batch's unfinished keys, and no others" do
    seen = []
    run_keys(%w[a b b c a], threads: 2) do |batch|
      seen << batch.map(&:offset)
      batch.seek(:end) if seen.one?
    end

    assert_equal [[0, 1, 4], [3]], seen
  end

  test "a seek by key to an offset loses no message before it of the batch's keys" do
    seen = []
    run_keys(%w[a b b c c a], threads: 2) do |batch|
      batch.each do |message|
        seen << message.offset
        break batch.seek(5) if message.offset == 5 && seen.count(5) == 1
      end
    end

    assert_equal [0, 1, 2, 3, 4, 5, 5], seen.sort
  end

  test "a seek by key waits for the messages behind a batch that is marked and pauses" do
    outcome = run_keys(%w[a a b], max_messages: 1) do |batch|
      batch.mark(batch.first_offset)
      batch.pause(1) if batch.first_offset.zero?
      batch.seek(:end) if batch.first_offset == 2
    end

    assert_equal [0, 1, 2], outcome.done.map(&:offset)
  end

  test "a seek by key waits for no message that on_error has paused" do
    { 0 => [0, 1, 0, 1], :end => [0, 1] }.each do |place, offsets|
      seen = []
      outcome = run_keys(%w[a b], max_messages: 1, on_error: { IOError => :pause }) do |batch|
        seen << batch.first_offset
        raise IOError if seen == [0]

        batch.seek(place) if seen == [0, 1]
      end

      assert_equal [offsets, 2], [seen, outcome.committed[["t", 0]]]
    end
  end

  # librdkafka and SourceOptions may disagree about the topics that a pattern matches.
  test "a message of the dead letter topic isn't written there again, and is reported" do
    letter = { topic: "dead", payload: "bad", headers: { "skep.topic" => "t" } }
    outcome = Testing.run(source, [letter, "bad"]) { raise "bad" }

    assert_equal([["t", 0]], outcome.dead_lettered.map { |one| [one.topic, one.offset] })
    assert_equal(["dead"], outcome.pending.map(&:topic))
    reported = outcome.node.events.select { |name,| name == :not_dead_lettered }
    assert_equal([[:warn, "dead", 0]],
                 reported.map { |_, level, facts| [level, *facts.values_at(:topic, :offset)] })
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

  def run_handler(count, **options)
    messages = Array.new(count) { |n| { key: "k#{n}", payload: n.to_s } }
    Testing.run(source(**options), messages) { |batch, _| yield batch }
  end

  def run_keys(keys, **options, &block)
    messages = keys.map { |key| { key: } }
    Testing.run(source(ordered_by: :key, **options), messages) { |batch, _| block.call(batch) }
  end

  def source(**options)
    Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "none" }, group: "g", topics: "t",
                            dead_letter_topic: "dead", **options)
  end
end
