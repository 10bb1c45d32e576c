# frozen_string_literal: true

require "kafka/support/kafka_case"
require "skep/kafka/testing"

module Skep
  module Kafka
    # A source with several topics, each with a handler and options of its own.
    class SeveralTopicsTest < ::KafkaCase
      test "each topic has its own handler, retries, dead letters and deserializer" do
        broker(orders: 2, refunds: 1, dead: 1)
        feed("orders", [["k", "1", 0], ["k", "2", 1]])
        feed("refunds", [["k", '{"id": 3}', 0], ["k", "no JSON", 0]])
        seen = Thread::Queue.new
        calls = Hash.new(0)
        source = Source.new(**options.except(:topics), threads: 2) do |one|
          one.topic("orders", dead_letter_topic: "dead", max_attempts: 2) do |batch, _|
            calls[batch.partition] += 1
            raise "always" if batch.partition.zero?

            seen << batch.payloads
          end
          one.topic("refunds", deserializer: :json, dead_letter_topic: "dead") do |batch, _|
            seen << batch.map(&:value)
          end
        end
        node = FakeNode.new
        running = Thread.new { source.run(node, source.handler) }
        dead = payloads_of("dead", 2)
        node.stop!
        running.join
        node.close

        assert_equal ["1", "no JSON"], dead.sort
        assert_equal [["2"], [{ "id" => 3 }]], Array.new(seen.size) { seen.pop }.sort_by(&:to_s)
        assert_equal({ 0 => 2, 1 => 1 }, calls)
      end

      # By which `skep profile` tells its samples apart.
      test "a handler's thread has its topic and its place as label while it runs" do
        broker(orders: 1, refunds: 1)
        seen = Thread::Queue.new
        note = lambda do |batch, _|
          number = Swarm::Profiling::Label.of(Thread.current)
          seen << [batch.topic, Swarm::Profiling::Label.facts(number)]
        end
        source = Source.new(**options.except(:topics)) do |one|
          one.topic("orders", &note)
          one.topic("refunds", &note)
        end
        feed("orders", [["k", "1", 0]])
        feed("refunds", [["k", "2", 0]])
        node = FakeNode.new
        running = Thread.new { source.run(node, source.handler) }
        labels = Array.new(2) { seen.pop }.to_h
        node.stop!
        running.join
        node.close

        handler = note.source_location.join(":")
        assert_equal({ "orders" => { "topic" => "orders", "handler" => handler },
                       "refunds" => { "topic" => "refunds", "handler" => handler } }, labels)
      end

      test "a test run needs no block, and takes messages of all topics" do
        handled = []
        source = source_of do |one|
          one.topic("orders") { |batch, _| handled << [:orders, batch.payloads] }
          one.topic("refunds", dead_letter_topic: "dead", max_attempts: 1) { raise "never" }
        end
        messages = ["a", { topic: "refunds", payload: "b" }, { topic: "orders", payload: "c" }]
        result = Testing.run(source, messages)

        assert_equal [[:orders, %w[a c]]], handled
        assert_equal [%w[dead b]], (result.dead_letters.map { |one| [one.topic, one.payload] })
        result = Testing.run(source, ["b"], topic: "refunds")
        assert_equal %w[b], result.dead_lettered.map(&:payload)
      end

      test "a test run of patterns alone needs a topic" do
        source = source_of { |one| one.topic("^orders\\.") { nil } }
        error = assert_raises(ArgumentError) { Testing.run(source, ["a"]) }

        assert_match(/give the messages a topic/, error.message)
        assert_equal %w[a], Testing.run(source, ["a"], topic: "orders.eu").done.map(&:payload)
      end

      test "calls the callbacks of a partition's own topic" do
        calls = []
        note = ->(*facts) { calls << facts.first(2) }
        source = source_of do |one|
          one.topic("orders", on_assigned: note) { nil }
          one.topic("refunds", on_revoked: note) { nil }
        end
        Testing.run(source, ["a", { topic: "refunds", payload: "b" }])

        assert_equal [["orders", 0], ["refunds", 0]], calls
      end

      test "calls the topic's own ordered_by callable for keys" do
        batches = []
        source = source_of do |one|
          one.topic("orders") { |batch, _| batches << batch.payloads }
          one.topic("refunds", ordered_by: ->(message) { message.payload[0] }) do |batch, _|
            batches << batch.payloads
            raise "not yet" if batches.count(%w[a1 a2]) == 1
          end
        end
        refunds = %w[a1 a2].map { |payload| { topic: "refunds", payload: } }
        result = Testing.run(source, ["o", *refunds])

        assert_equal [%w[o], %w[a1 a2], %w[a1 a2]], batches
        assert_empty result.pending
      end

      private

      def source_of(&)
        Source.new(kafka: { "bootstrap.servers": "none" }, group: "g", &)
      end
    end
  end
end
