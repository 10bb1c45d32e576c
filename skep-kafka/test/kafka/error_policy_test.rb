# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"

module Skep
  module Kafka
    # What `on_error` decides, by the class of an error.
    class ErrorPolicyTest < Skep::TestCase
      Gone = Class.new(StandardError)
      GoneAway = Class.new(Gone)
      Marker = Module.new
      private_constant :Gone, :GoneAway, :Marker

      def setup
        missing = Librdkafka::Bindings.missing_library
        missing(missing) if missing
      end

      test "a message with a :retry error never becomes a dead letter" do
        result = fail_with({ Gone => :retry }) { raise Gone }

        assert_empty result.dead_letters
        assert_includes payloads(result.pending), "bad"
        assert_operator result.retried.size, :>, 10
      end

      test "a message with a :dead_letter error is dead-lettered at once, and others are done" do
        result = fail_with({ Gone => :dead_letter }) { raise GoneAway, "it has" }

        assert_equal %w[bad], payloads(result.dead_lettered)
        assert_equal %w[good good], payloads(result.done)
        assert_equal 2, (result.dead_letters.first.headers["skep.attempts"].to_i) # then alone
      end

      test "a message with a :pause error stays pending, and all after it" do
        result = fail_with({ Gone => :pause }) { raise Gone }

        assert_empty result.dead_letters
        assert_equal %w[good], payloads(result.done)
        assert_equal %w[bad good], payloads(result.pending)
        assert_nil result.retried.last[:retry_in]
        assert_includes result.retried.last[:hint], "on_error"
      end

      test "by key, only the key of the message is paused" do
        result = fail_with({ Gone => :pause }, ordered_by: :key) { raise Gone }

        assert_equal %w[good good], payloads(result.done)
        assert_equal %w[bad], payloads(result.pending)
      end

      test "by key, only the failing message is dead-lettered if the handler uses payloads" do
        messages = [%w[0 good], %w[1 bad]].map { |key, payload| { key:, payload: } }
        on_error = { Gone => :dead_letter }
        result = Testing.run(source(on_error:, ordered_by: :key), messages) do |batch, _|
          raise Gone if batch.payloads.include?("bad")
        end

        assert_equal [%w[bad], %w[good]], [payloads(result.dead_lettered), payloads(result.done)]
      end

      test "the nearest class or module decides, and any other error is counted" do
        policy = { StandardError => :retry, Gone => :dead_letter, Marker => :pause }

        assert_equal 1, fail_with(policy) { raise GoneAway }.dead_letters.size
        assert_equal 0, fail_with(policy) { raise IOError }.dead_letters.size
        assert_nil fail_with(policy) { raise IOError.new.extend(Marker) }.retried.last[:retry_in]
        assert_equal 1, fail_with({ Gone => :retry }) { raise IOError }.dead_letters.size
      end

      test "rejects an invalid on_error, and :dead_letter without a dead letter topic" do
        { [1] => "must be a Hash of error classes",
          { "Gone" => :retry } => "error classes as its keys",
          { String => :retry } => "error classes as its keys (got String)",
          { Gone => :drop } => "the values :retry, :dead_letter, :pause" }.each do |given, text|
          assert_includes source(on_error: given).errors.join(" "), text
        end
        wrong = source(on_error: { Gone => :dead_letter }, dead_letter_topic: nil)

        assert_includes wrong.errors.first, "needs dead_letter_topic"
        assert_empty source(on_error: { Gone => :pause }, dead_letter_topic: nil).errors
      end

      private

      def source(**more)
        Source.new(kafka: { "bootstrap.servers": "none" }, group: "g", topics: "orders",
                   dead_letter_topic: "dead", **more)
      end

      # The handler raises for the second of three messages, which are of three keys.
      def fail_with(policy, **more, &failure)
        messages = %w[good bad good].map.with_index { |text, key| { key: key.to_s, payload: text } }
        Testing.run(source(on_error: policy, **more), messages) do |batch, _|
          batch.each { |message| failure.call if message.payload == "bad" }
        end
      end

      def payloads(messages) = messages.map(&:payload)
    end
  end
end
