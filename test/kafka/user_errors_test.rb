# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"

# An exception of any class fails a batch, wherever the user's code raises it; only what is to end
# the process ends the node.
class KafkaUserErrorsTest < Skep::TestCase
  Odd = Class.new(Exception) # rubocop:disable Lint/InheritException -- as some libraries do
  # What raises, by the name of the error's class.
  FAILURES = { "SystemStackError" => ->(one) { FAILURES["SystemStackError"].call(one) },
               "KafkaUserErrorsTest::Odd" => ->(_) { raise Odd },
               "NotImplementedError" => ->(_) { raise NotImplementedError } }.freeze
  ENDING = [SystemExit, Interrupt, NoMemoryError].freeze
  private_constant :Odd, :FAILURES, :ENDING

  def setup
    missing = Skep::Kafka::Librdkafka::Bindings.missing_library
    missing(missing) if missing
  end

  FAILURES.each do |name, failure|
    test "#{name} of a handler makes a dead letter of its message" do
      result = run_source do |batch|
        batch.each { |message| failure.call(message) if message.payload == "b" }
      end

      assert_dead_lettered name, result
    end

    test "#{name} of a filter, a deserializer or a key makes a dead letter of its message" do
      bad = ->(payload) { failure.call(payload) if payload == "b" }
      [{ filter: ->(message) { bad.call(message.payload) || true } },
       { deserializer: ->(payload, _) { bad.call(payload) || payload } },
       { ordered_by: ->(message) { bad.call(message.payload) || "k" } }].each do |options|
        result = run_source(**options) { |batch| batch.each { nil } }

        assert_dead_lettered name, result
      end
    end
  end

  ENDING.each do |error|
    test "#{error} of a handler ends the node, and of a deserializer, too" do
      assert_raises(error) { run_source { raise error.allocate } }
      assert_raises(error) { run_source(deserializer: ->(*) { raise error.allocate }) { nil } }
    end
  end

  private

  def assert_dead_lettered(name, result)
    payloads = [result.dead_lettered, result.done].map { |all| all.map(&:payload) }
    assert_equal [%w[b], %w[a c]], payloads
    assert_match(/\A#{name}: /, result.dead_letters.first.headers["skep.error"])
  end

  def run_source(**options)
    source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "none" }, group: "g",
                                     topics: "t", dead_letter_topic: "dead", max_attempts: 2,
                                     **options)
    Skep::Kafka::Testing.run(source, %w[a b c]) { |batch, _| yield batch }
  end
end
