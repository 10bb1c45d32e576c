# frozen_string_literal: true

require "kafka/support/kafka_case"
require "support/fakes"

module Skep
  module Kafka
    # The event loop's timers, and its last commit after its thread has ended.
    class EventLoopTest < ::KafkaCase
      # As librdkafka reports it.
      ALL_DOWN = Fakes::KafkaEvent.new(:error, Librdkafka::ErrorCode::ALL_BROKERS_DOWN,
                                       "1/1 brokers are down")
      private_constant :ALL_DOWN

      def setup
        super
        broker(orders: 1)
        @events = events = []
        @node = FakeNode.new { |name, facts| events << [name, facts] }
        options = Config::SourceOptions.new(**self.options)
        @consumer = Consumer.new(options.settings.consumer("test", 0, group: "readers",
                                                                        commit_interval: 5.0))
        offset_committer = Consumer::OffsetCommitter.new(@consumer, interval: 5.0, by_key: false)
        @scheduler = Processing::Scheduler.new(offset_committer:)
        @metrics = Metrics::ConsumerMetrics.new(node: @node, scheduler: @scheduler,
                                                consumer: @consumer, group: "readers")
        @event_loop = Consumer::EventLoop.new(
          options:, node: @node, consumer: @consumer, scheduler: @scheduler, metrics: @metrics,
          lease: Processing::MembershipLease.new(60.0),
          report: Metrics::EventReporter.new(@node, options.settings)
        )
      end

      def teardown
        @scheduler&.clear
        @metrics&.clear
        @consumer&.close
        super
      end

      test "goes on after a decision to end the node, until it is stopped" do
        turned = Thread::Queue.new
        @event_loop.instance_variable_get(:@loop).then do |loop|
          loop.after(0) { raise NodeStalled.new(what: "orders/0", seconds: 60) }
          loop.after(0.1) { turned << true }
        end
        @event_loop.start
        wait_readable(@scheduler.wakeup_pipe.io)

        assert_kind_of NodeStalled, @event_loop.failure
        assert turned.pop
        @event_loop.stop
      end

      test "repeats its last commit while the group rebalances, and while its coordinator moves" do
        codes = [*Librdkafka::ErrorCode::REBALANCING, *Librdkafka::ErrorCode::COORDINATOR, 0]
        @consumer.define_singleton_method(:commit) { |*| codes.shift }
        @consumer.control.define_singleton_method(:wait) { |_| nil }
        @event_loop.start
        @event_loop.stop

        assert_equal 0, @event_loop.commit_last
        assert_empty codes
      end

      test "a static member doesn't read what only its former life subscribed to" do
        @consumer.define_singleton_method(:static_member?) { true }
        keys = nil
        Librdkafka::TopicPartitionList.make([["orders", 0], ["former", 0], ["former", 1]]) do |list|
          assigned(list)
          keys = list.keys
        end
        assert_equal [["orders", 0]], keys
        @event_loop.start
        @event_loop.stop
      end

      test "reports a missing topic once, until it is assigned, and none that a pattern matched" do
        missing = lambda do |topic|
          text = "Subscribed topic not available: #{topic}: Broker: Unknown topic or partition"
          @event_loop.send(:handle, Fakes::KafkaEvent.new(:error, 3, text))
        end
        reported = -> { named(@events, "kafka_topic_missing").map { |facts| facts[:topic] } }
        2.times { %w[orders orders-7].each(&missing) }
        assert_equal %w[orders], reported.call
        Librdkafka::TopicPartitionList.make([["orders", 0]]) { |list| assigned(list) }
        2.times { missing.call("orders") }
        assert_equal %w[orders orders], reported.call
        assert_empty named(@events, "kafka_error")
        @event_loop.start
        @event_loop.stop
      end

      test "starts no metadata request while it retries its last commit" do
        codes = [Librdkafka::ErrorCode::REBALANCING.first, 0]
        @consumer.define_singleton_method(:commit) { |*| codes.shift }
        @consumer.control.define_singleton_method(:wait) { |_, &block| block.call(ALL_DOWN) }
        @event_loop.start
        @event_loop.stop

        assert_equal 0, @event_loop.commit_last
        assert_empty Thread.list.map(&:name).grep("skep.kafka.metadata")
      end

      private

      def assigned(list)
        @event_loop.instance_variable_get(:@rebalance_listener)
                   .define_singleton_method(:partitions_assigned) { |_| nil }
        code = Librdkafka::ErrorCode::ASSIGN_PARTITIONS
        @event_loop.send(:rebalance, Struct.new(:code, :list).new(code, list))
      end
    end
  end
end
