# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"

# The handler raises at a message that it has marked: the message is done, and the error is of no
# other message.
class KafkaMarkedFailureTest < Skep::TestCase
  include Skep::Kafka

  Invalid = Class.new(StandardError) { include Skep::Kafka::NonRetryable }
  Refused = Class.new(StandardError)
  private_constant :Invalid, :Refused

  def setup
    missing = Librdkafka::Bindings.missing_library
    missing(missing) if missing
    @seen = []
  end

  test "by partition, no message behind a marked one is dead-lettered with its error" do
    { Invalid => {}, Refused => { on_error: { Refused => :dead_letter } },
      RuntimeError => { max_attempts: 1 } }.each do |error, options|
      result = mark_and_raise(error, [{ payload: "a" }, { payload: "b" }], **options)

      assert_equal [[0, 1], [], [0, 1]], [@seen, result.dead_letters, offsets(result.done)], error
      assert_equal [nil], attempts(result), error
    end
  end

  test "a filtered message behind a marked one isn't dead-lettered" do
    messages = [{ payload: "a" }, { payload: "skip" }]
    result = mark_and_raise(Invalid, messages, filter: ->(message) { message.payload != "skip" })

    assert_equal [[], [0], [1]],
                 [result.dead_letters, offsets(result.done), offsets(result.filtered)]
  end

  test "by key, the node continues" do
    [{}, { dead_letter_topic: nil }].each do |options|
      messages = [{ key: "a", payload: "0" }, { key: "b", payload: "1" }]
      result = mark_and_raise(RuntimeError, messages, ordered_by: :key, **options)

      assert_equal [[0, 1], [], 2],
                   [@seen, result.dead_letters, result.committed[["orders", 0]]], options
    end
  end

  test "on_error: :pause pauses no message behind a marked one" do
    result = mark_and_raise(Refused, %w[a b], on_error: { Refused => :pause })

    assert_equal [[0, 1], []], [offsets(result.done), result.pending]
  end

  test "a message behind a marked one gets all of its own attempts" do
    tries = Hash.new(0)
    result = run_source(%w[a b], max_attempts: 3) do |batch|
      batch.each do |message|
        tries[message.offset] += 1
        batch.mark(message) if message.offset.zero?
        raise "at #{message.offset}"
      end
    end

    assert_equal [1, 3], tries.values_at(0, 1)
    assert_equal [nil, 1, 2], attempts(result)
    assert_equal %w[3], (result.dead_letters.map { |one| one.headers["skep.attempts"] })
  end

  test "if it isn't known at which message the handler raised, none is charged with it" do
    calls = 0
    result = run_source(%w[a b], max_attempts: 1) do |batch|
      batch.messages.each do |message|
        batch.mark(message)
        raise Invalid if (calls += 1) == 1
      end
    end

    assert_equal [[], [0, 1]], [result.dead_letters, offsets(result.done)]
  end

  test "on_error gets the offset of the marked message, and no attempt" do
    reported = []
    node = Testing.node(on_error: [->(_, context) { reported << context }])
    mark_and_raise(RuntimeError, %w[a b], node:)

    assert_equal([[0, 0]], reported.map { |context| context.values_at(:offset, :attempt) })
  end

  test "what a message failed before its payload couldn't be read counts for that message alone" do
    filtered = read = 0
    filter = ->(message) { message.payload != "b" || (filtered += 1) > 1 || raise("once") }
    reader = lambda do |payload, _|
      raise Refused, "once" if payload == "b" && (read += 1) == 1

      payload
    end
    result = run_source(%w[a b], deserializer: reader, filter:) do |batch|
      batch.each { |message| raise Invalid if message.payload == "a" }
    end

    assert_equal([%w[0 1]], result.dead_letters.map do |one|
      one.headers.values_at("skep.offset", "skep.attempts")
    end)
  end

  # By key, the first failure is of no known message: those of two keys are tried again together.
  test "a mark is the success of each key that it covers" do
    calls = 0
    keys = %w[a b c].map { |key| { key:, payload: key } }
    result = run_source(keys, ordered_by: :key) do |batch|
      raise "before the loop" if (calls += 1) == 1

      batch.mark(batch.last_offset)
      raise "after the mark"
    end

    assert_equal [0, 1, 2], offsets(result.done)
    assert_equal [nil], failing(result)
  end

  private

  def failing(result) = result.node.work[:partitions].map { |row| row["failing"] }
  def offsets(messages) = messages.map(&:offset)
  def attempts(result) = result.retried.map { |one| one[:attempt] }

  def mark_and_raise(error, messages, node: Testing.node, **options)
    @seen = []
    run_source(messages, node:, **options) do |batch|
      batch.each do |message|
        @seen << message.offset
        batch.mark(message)
        raise error, "at #{message.offset}" if message.offset.zero?
      end
    end
  end

  def run_source(messages, node: Testing.node, **options)
    source = Source.new(kafka: { "bootstrap.servers": "none" }, group: "g", topics: "orders",
                        dead_letter_topic: "dead", **options)
    Testing.run(source, messages, node:) { |batch, _| yield batch }
  end
end
