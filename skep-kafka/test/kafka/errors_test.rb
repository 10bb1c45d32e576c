# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"

module Skep
  module Kafka
    # What happens to a message whose handler raises, and how errors are described.
    class ErrorsTest < ::Skep::TestCase
      class NoOrder < StandardError
        include NonRetryable
      end
      private_constant :NoOrder

      test "an error is described in one line, without the source that Ruby shows" do
        misspelled = assert_raises(NoMethodError) { Object.new.misspelled(1) }
        described = Skep::Kafka::Metrics::EventReporter.describe(misspelled)
        assert_match(/\ANoMethodError: undefined method .misspelled. .*\z/, described)
      end

      test "a message whose error isn't retryable becomes a dead letter at once" do
        outcome = run_with(max_messages: 1, dead_letter_topic: "dead") do |text|
          raise NoOrder, "no" if text == "b"
        end

        assert_equal %w[a c], outcome.done.map(&:payload)
        assert_equal [["b", "1"]], letters(outcome)
        assert_empty outcome.retried
      end

      test "a message whose error isn't retryable is found in a batch, and retried alone once" do
        tries = []
        outcome = run_with(dead_letter_topic: "dead") do |text|
          tries << text
          raise IOError.new("no").extend(NonRetryable) if text == "b"
        end

        assert_equal [["b", "2"]], letters(outcome)
        assert_equal({ "a" => 2, "b" => 2, "c" => 1 }, tries.tally)
      end

      test "a message whose error isn't retryable is retried without a dead letter topic" do
        outcome = run_with(max_messages: 1) { |text| raise NoOrder, "no" if text == "b" }

        assert_operator outcome.retried.size, :>, 3
        assert_equal %w[b c], outcome.pending.map(&:payload)
      end

      private

      def run_with(**options)
        Testing.run(source(**options), %w[a b c]) do |batch, _|
          batch.each { |message| yield message.payload }
        end
      end

      def source(**options)
        Source.new(kafka: { "bootstrap.servers": "none" }, group: "g", topics: "t", **options)
      end

      def letters(outcome)
        outcome.dead_letters.map { |letter| [letter.payload, letter.headers["skep.attempts"]] }
      end
    end
  end
end
