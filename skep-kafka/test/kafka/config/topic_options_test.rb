# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "skep/kafka/testing"
require "skep/swarm"

module Skep
  module Kafka
    # The errors and facts of a source for the options of its topics. No broker runs.
    class TopicOptionsTest < Skep::TestCase
      GOOD = { kafka: { "bootstrap.servers": "kafka-1:9092" }, group: "billing" }.freeze
      private_constant :GOOD

      test "a topic inherits the source's options, and overrides them with its own" do
        source = source_of(max_attempts: 7, dead_letter_topic: "dead") do |one|
          one.topic("orders") { :orders }
          one.topic("refunds", max_attempts: 2, ordered_by: :key, weight: 3) { :refunds }
        end

        assert_empty source.errors
        assert_equal [7, :partition, 1], of(source, "orders")
        assert_equal [2, :key, 3], of(source, "refunds")
        assert_equal %w[orders refunds], source.facts[:topics]
        assert_equal({ "orders" => {},
                       "refunds" => { max_attempts: 2, ordered_by: :key, weight: 3 } },
                     source.facts[:topic_options])
      end

      test "a batch gets the handler of its topic's name, or of the first matching pattern" do
        source = source_of do |one|
          one.topic("^orders\\.") { :some_orders }
          one.topic("^.*") { :anything }
          one.topic("orders.eu") { :european }
        end
        topics = %w[orders.us orders.eu views]

        assert_equal %i[some_orders european anything],
                     (topics.map { |topic| source.handler.call(Testing.batch(topic, []), nil) })
      end

      test "errors of a topic name the topic; errors of the source appear once" do
        source = Source.new(kafka: {}, threads: 0) do |one|
          one.topic("orders", threads: 3, max_attempt: 1) { nil }
          one.topic("refunds", weight: 0)
          one.topic("re funds") { nil }
        end
        found = source.errors

        assert_equal 1, found.grep(/\Agroup must be the name/).size
        assert_equal 1, found.grep(/\Athreads must be a whole number/).size
        assert_equal 1, found.grep(/bootstrap.servers is missing/).size
        [/\Atopic orders: threads is an option of the whole source\z/,
         /\Atopic orders: .* no option max_attempt \(did you mean max_attempts\?\)\z/,
         /\Atopic refunds: it needs a handler: source\.topic\("refunds"\) { \|batch, node\| … }\z/,
         /\Atopic refunds: weight must be a number from 0\.01 to 100 \(got 0\)\z/,
         /\Atopic re funds: topics has an invalid name \("re funds"\)/].each do |sentence|
          assert_equal 1, found.grep(sentence).size, found.join("\n")
        end
      end

      test "a topic can't read its own dead letter topic, but another topic can" do
        one = source_of(dead_letter_topic: "dead") { |source| source.topic("dead") { nil } }
        two = source_of do |source|
          source.topic("orders", dead_letter_topic: "dead") { nil }
          source.topic("dead") { nil }
        end

        assert_match(/dead_letter_topic must be a topic that/, one.errors.first)
        assert_empty two.errors
      end

      test "rejects dead letter topics that lead back to the same topic" do
        circle = source_of do |source|
          source.topic("a", dead_letter_topic: "b") { nil }
          source.topic("^b", dead_letter_topic: "c") { nil }
          source.topic("c", dead_letter_topic: "a") { nil }
          source.topic("d", dead_letter_topic: "a") { nil }
        end

        assert_equal 3, circle.errors.grep(/its dead letters come back to it/).size
        assert_match(/\Atopic a: its dead letters come back to it \(a, \^b, c, a\)/,
                     circle.errors.first)
      end

      test "reports topics that are given twice, and a block that gives none" do
        twice = source_of(topics: "views") do |one|
          2.times { one.topic("orders") { nil } }
        end

        assert_equal [
          "topics are given twice: by the option and in the block. Leave the option out",
          "topic orders is given 2 times. Give each topic one handler"
        ], twice.errors
        assert_match(/gives no topic/, source_of { nil }.errors.first)
      end

      test "topic raises outside of the source's block" do
        error = assert_raises(ArgumentError) { Source.new(**GOOD, topics: "a").topic("b") { nil } }
        assert_match(/belongs into the block/, error.message)
        source = source_of { |one| one.topic("a") { nil } }
        assert_raises(ArgumentError) { source.topic("b") { nil } }
      end

      test "swarm.work takes a source with handlers, and rejects a block beside them" do
        source = source_of { |one| one.topic("a") { :handled } }
        alone, both = [nil, ->(_, _) {}].map do |block|
          Skep::Swarm.new("s") { |swarm| swarm.work(source, &block) }.tasks.first
        end

        assert_empty alone.to_plain["errors"]
        assert_match(/has handlers of its own/, both.to_plain["errors"].first)
      end

      test "inspect and facts contain no secret" do
        source = source_of(kafka: { "bootstrap.servers": "a", "sasl.password": "hush" }) do |one|
          one.topic("orders", filter: ->(_) { true }) { nil }
        end

        refute_includes source.inspect + source.__options.inspect + source.facts.to_s, "hush"
        assert_equal "given", source.facts[:topic_options]["orders"][:filter]
      end

      private

      def source_of(**more, &) = Source.new(**GOOD, **more, &)

      def of(source, topic)
        options = source.__options.for(topic)
        [options.max_attempts, options.ordered_by, options.weight]
      end
    end
  end
end
