# frozen_string_literal: true

require "test_helper"
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
        @cluster = "here"
        cluster = -> { @cluster }
        consumer.define_singleton_method(:cluster_id) { cluster.call }
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

      test "offsets belong to the topic that was there when reading began" do
        assert_nil origin
        @topic_recreation.record("orders" => "one", "refunds" => ZERO)
        assert_equal %w[here one], origin
        assert_nil origin("refunds")
        @topic_recreation.record("orders" => "two") # another partition of it is assigned
        assert_equal %w[here one], origin
        assert_equal [[], ["orders"]], found("two", "two")
        assert_equal %w[here two], origin
      end

      test "asks at an assignment, and waits for the answer" do
        silently do
          Librdkafka::AdminRequests.stub(:describe_topics, nil) do
            @answers << { "orders" => "one" }
            assert_equal({ "orders" => "one" }, @topic_recreation.ids_of(%w[orders], 1.0))
            assert_nil @topic_recreation.ids_of(%w[orders], 1.0)
          end
        end
      end

      test "the embedded broker answers nothing" do
        assert_predicate @topic_recreation, :answered?
        @cluster = "mockCluster7f"
        refute_predicate @topic_recreation, :answered?
      end

      private

      def origin(topic = "orders") = @topic_recreation.origin(topic)&.to_a

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
