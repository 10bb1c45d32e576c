# frozen_string_literal: true

require "test_helper"
require "support/fakes"
require "skep/kafka"

module Skep
  module Kafka
    # When a swarm's static members came back with other topics than before.
    class SubscriptionCheckTest < ::Skep::TestCase
      Member = Librdkafka::AdminRequests::GroupDescription::Member
      Group = Struct.new(:state, :members)
      Event = Struct.new(:kind, :answer)
      private_constant :Member, :Group, :Event

      # An event queue with these events.
      class Answers < Array
        def drain
          yield shift while any?
        end

        def close = nil
      end

      def setup
        super
        @answers = answers = Answers.new
        consumer = Struct.new(:queue).new(answers)
        @check = Consumer::SubscriptionCheck.new(consumer, group: "g", topics: %w[orders refunds])
      end

      test "a topic that exists and that no member has was added" do
        one, other = member("billing-host-0", "orders"), member("another-0", "refunds")
        assert_equal [%w[refunds], []], difference([one], %w[orders refunds])
        assert_nil difference([one, other], %w[orders refunds])
        assert_nil difference([one], %w[orders]) # the other one doesn't exist
      end

      test "a topic that the member was given, and doesn't subscribe to, was removed" do
        former = member("billing-host-0", "orders", "former")
        assert_equal [[], %w[former]], difference([former], %w[orders], %w[former])
      end

      test "topics of the swarm's other sources with this group aren't removed ones" do
        assert_nil difference([member("billing-host-0", "orders"),
                               member("billing-host-2", "refunds")], %w[orders])
      end

      test "the first node of each source checks, if it is a static member" do
        node = Struct.new(:__first_of_its_work?)
        checks = [true, false].product([true, false]).map do |static, first|
          consumer = Struct.new(:queue, :static_member?).new(@answers, static)
          options = Struct.new(:group, :topics).new("g", %w[orders])
          Consumer::SubscriptionCheck.for(options, node: node.new(first), consumer:)
        end
        assert_equal [true, false, false, false], checks.map { |check| !check.nil? }
      end

      test "asks once, and again while the group rebalances" do
        with_answers do |asked|
          assert_nil @check.seconds_left
          @check.start([])
          assert_nil @check.difference
          assert_equal [1, nil], [asked.size, @check.seconds_left]
          answer(Group.new("PreparingRebalance", []))
          assert_nil @check.difference
          assert_operator @check.seconds_left, :>, 0
          @check.instance_variable_set(:@due, OS.now)
          assert_nil @check.difference
          answer(Group.new("Stable", [member("billing-host-0", "orders")]))
          assert_equal({ added: %w[refunds], removed: [] }, @check.difference)
          @check.start([])
          assert_equal [nil, nil, 2], [@check.difference, @check.seconds_left, asked.size]
        end
      end

      test "asks no broker again that doesn't know the request" do
        with_answers do
          @check.start([])
          @check.difference
          @answers << Event.new(:groups, [Librdkafka::ErrorCode::UNSUPPORTED_FEATURE, nil])
          assert_equal [nil, nil], [@check.difference, @check.seconds_left]
        end
      end

      private

      def member(instance, *topics)
        Member.new("id", instance, "client", "host", topics.map { |topic| [topic, 0] })
      end

      def difference(members, existing, removed = [])
        Consumer::SubscriptionCheck.difference(members, existing, removed)&.values
      end

      def answer(group)
        @answers << Event.new(:topics, %w[orders refunds].to_h { |topic| [topic, "id"] })
        @answers << Event.new(:groups, [0, group])
      end

      def with_answers
        asked = []
        requests = Librdkafka::AdminRequests
        requests.stub(:describe_group, ->(*) { asked << 1 }) do
          requests.stub(:describe_topics, nil) do
            requests.stub(:topic_ids_in, :answer.to_proc) do
              requests.stub(:group_description_in, :answer.to_proc) { yield asked }
            end
          end
        end
      end
    end
  end
end
