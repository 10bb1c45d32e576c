# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "skep/kafka"

module Skep
  module Kafka
    # When TopicRecreation reports a topic as deleted and created again.
    class TopicRecreationTest < ::Skep::TestCase
      ZERO = "AAAAAAAAAAAAAAAAAAAAAA"
      private_constant :ZERO

      # An event queue that yields one answer with topic ids at each drain.
      class Answers < Array
        def drain
          yield shift
        end

        def wait(_) = (yield shift if any?)
        def close = nil
      end

      def setup
        super
        @answers = Answers.new
        @queried = queried = []
        answers = @answers
        consumer = Object.new
        consumer.define_singleton_method(:queue) { answers }
        @topic_recreation = Consumer::TopicRecreation.new(consumer)
        @topic_recreation.define_singleton_method(:ask) do |topics|
          queried << topics unless topics.empty?
        end
        @before = Librdkafka::AdminRequests.method(:topic_ids_in)
        requests = Librdkafka::AdminRequests
        silently { requests.define_singleton_method(:topic_ids_in) { |event| event } }
      end

      def teardown
        before = @before
        silently { Librdkafka::AdminRequests.define_singleton_method(:topic_ids_in, before) }
        super
      end

      test "reports a topic when two answers have the same new id" do
        assert_equal [[], [], ["orders"], []], found("one", "two", "two", "two")
        assert_equal [["orders"]], @queried
      end

      test "ignores brokers without topic ids, before and after those with them" do
        assert_equal [[]] * 6, found(ZERO, "one", ZERO, "one", ZERO, ZERO)
        assert_empty @queried
      end

      test "queries an unconfirmed id again, and reports none that only one answer had" do
        assert_equal [[], [], [], []], found("one", "two", "one", "two")
        assert_equal [["orders"]] * 2, @queried
      end

      test "compares no id with that of a time when none of the topic's partitions was assigned" do
        found("one")
        @topic_recreation.query(%w[orders refunds])
        assert_equal [[], ["orders"]], found("two", "two")
        @topic_recreation.query(%w[refunds])
        assert_equal [[], [], []], found("three", "three", "three")
      end

      test "an answer at a stop counts at once, but no zero id, and none that is missing" do
        found("one")
        silently { Librdkafka::AdminRequests.stub(:describe_topics, nil) { ask_at_a_stop } }
      end

      private

      def ask_at_a_stop
        later = [{ "orders" => "one" }, { "orders" => ZERO }, {}, { "orders" => "two" }]
        results = later.map do |ids|
          @answers << ids
          @topic_recreation.recreated_of(%w[orders refunds], 1.0)
        end
        assert_equal [[], [], [], ["orders"]], results
        assert_empty @topic_recreation.recreated_of(%w[orders], 1.0) # no answer
      end

      def found(*ids)
        ids.map do |id|
          @answers << { "orders" => id }
          @topic_recreation.recreated
        end
      end

      def silently
        before, $VERBOSE = $VERBOSE, nil
        yield
      ensure
        $VERBOSE = before
      end
    end
  end
end
