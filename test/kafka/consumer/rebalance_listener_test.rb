# frozen_string_literal: true

require "kafka/support/kafka_case"
require "skep/kafka/testing"

module Skep
  module Kafka
    # Which offsets are committed last of an assignment, before a stop or a revocation.
    class RebalanceListenerTest < ::KafkaCase
      DONE = [["orders", 0, 5, 0]].freeze
      NO_OFFSET = Librdkafka::TopicPartitionList::NO_OFFSET
      private_constant :DONE, :NO_OFFSET

      def setup
        super
        broker(orders: 1)
        @events = events = []
        @node = FakeNode.new { |name, facts| events << [name, facts] }
        options = Config::SourceOptions.new(**self.options)
        @consumer = Consumer.new(options.settings.consumer("test", 0, group: "readers",
                                                                        commit_interval: 5.0))
        report = Metrics::EventReporter.new(@node, options.settings)
        @scheduler = Processing::Scheduler.new
        @loop = OS::EventLoop.new
        @broker_outage = Consumer::BrokerOutage.new(loop: @loop, options:, report:, changed: nil,
                                                    consumer: @consumer)
        @listener = Consumer::RebalanceListener.new(
          options:, node: @node, report:, consumer: @consumer, leave_policy: nil,
          scheduler: @scheduler, metrics: nil, lease: nil, fetch_errors: nil,
          topic_recreation: nil,
          broker_outage: @broker_outage
        )
      end

      def teardown
        [@broker_outage, @loop, @consumer].compact.each(&:close)
        @metrics&.clear
        @scheduler&.clear
        @node&.close
        super
      end

      test "commits the first offset of a group that had none" do
        assert_equal DONE, @listener.last_offsets(DONE)
        @listener.acknowledge([["orders", 0, NO_OFFSET, 0]]) # a commit without an offset
        assert_equal DONE, @listener.last_offsets(DONE)
        assert_empty recreated
      end

      test "commits a later offset than the group has" do
        assert_equal 0, @consumer.commit([["orders", 0, 3]], 5.0)
        @listener.acknowledge([["orders", 0, 3, 0]])
        assert_equal DONE, @listener.last_offsets(DONE)
        assert_empty recreated
      end

      test "leaves out an offset that the group had, and doesn't have any more" do
        @listener.acknowledge([["orders", 0, 3, 0]])
        assert_empty @listener.last_offsets(DONE)
        assert_equal([{ "orders" => [0] }], recreated.map { |facts| facts[:partitions] })
      end

      test "commits the offset of a partition for which the group's answer is an error" do
        done = [["orders", 99, 5, 0]] # an unknown partition
        @listener.acknowledge([["orders", 99, 3, 0]])
        assert_equal done, @listener.last_offsets(done)
        assert_empty recreated
      end

      test "commits where a recreated topic is to be read from, as auto.offset.reset says" do
        feed("orders", [%w[k a], %w[k b]])
        { "latest" => 2, "error" => 0, "earliest" => 0 }.each do |reset, offset|
          assert_equal 0, @consumer.commit([["orders", 0, 1]], 5.0)
          kafka = options[:kafka].merge("auto.offset.reset" => reset)
          @listener.instance_variable_set(:@options, Config::SourceOptions.new(**options, kafka:))
          @listener.topics_recreated([["orders", 0]])
          assert_equal({ ["orders", 0] => offset }, @consumer.committed([["orders", 0]], 5.0))
        end
        assert_equal 3, recreated.size
      end

      test "commits in the order of seeks: the request goes out while none can begin" do
        lock = @scheduler.instance_variable_get(:@lock)
        owned = []
        @consumer.define_singleton_method(:begin_commit) do |offsets|
          owned << lock.owned?
          super(offsets)
        end
        @listener.commit
        assert_equal [true], owned
      end

      test "knows nothing of a partition after its assignment" do
        keys = [["orders", 0], ["orders", 1]]
        @listener.acknowledge(keys.map { |key| [*key, 3, 0] })
        reporting(@node).send(:report_rebalance, "revoked", keys)
        assert_empty @listener.instance_variable_get(:@acknowledged)
        assert_equal DONE, @listener.last_offsets(DONE) # it asks for the group's offset no more
        assert_empty recreated
      end

      test "reports a rebalance of more partitions than an event has room for" do
        keys = Array.new(12_000) { |number| ["#{"x" * 240}#{number}", 0] }
        node = Testing.node
        reporting(node).send(:report_rebalance, "lost", keys)
        facts = node.events_named(:kafka_rebalance).first
        assert_equal [2_000, 10_000], [facts[:partitions].size, facts[:partitions_left_out]]
      end

      private

      # Returns the listener, which reports to this node.
      def reporting(node)
        @metrics = Metrics::ConsumerMetrics.new(node:, scheduler: @scheduler, consumer: @consumer,
                                               group: "readers")
        report = Metrics::EventReporter.new(node, Config::ClientConfig.new({}))
        { "@metrics": @metrics, "@node": node, "@report": report }.each do |name, value|
          @listener.instance_variable_set(name, value)
        end
        @listener
      end

      def recreated
        @events.filter_map { |name, facts| facts if name == "kafka_topic_recreated" }
      end
    end
  end
end
