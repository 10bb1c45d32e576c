# frozen_string_literal: true

require "kafka/support/kafka_case"
require "skep/kafka/testing"

module Skep
  module Kafka
    # Where a partition begins, and what is committed and reported of it.
    class RebalanceListenerTest < ::KafkaCase
      NO_OFFSET = Librdkafka::TopicPartitionList::NO_OFFSET
      private_constant :NO_OFFSET

      # Topic ids, which the embedded broker doesn't have. answers: those of the next questions.
      class TopicIds
        attr_writer :answers

        def initialize = @answers = []
        def answered? = true
        def forget = @ids = nil
        def ids_of(topics, _) = topics.to_h { |topic| [topic, @answers.shift || "now"] }
        def record(ids) = @ids = ids.merge(@ids.to_h)

        def origin(topic, ids = @ids.to_h)
          Processing::OffsetOrigin.new("here", ids[topic]) if ids[topic]
        end
      end

      def setup
        super
        broker(orders: 1)
        @events = events = []
        @node = FakeNode.new { |name, facts| events << [name, facts] }
        options = Config::SourceOptions.new(**self.options)
        @consumer = Consumer.new(options.settings.consumer("test", 0, group: "readers",
                                                                        commit_interval: 5.0))
        @consumer.define_singleton_method(:cluster_id) { "here" }
        report = Metrics::EventReporter.new(@node, options.settings)
        @scheduler = Processing::Scheduler.new
        @loop = OS::EventLoop.new
        @broker_outage = Consumer::BrokerOutage.new(loop: @loop, options:, report:, changed: nil,
                                                    consumer: @consumer)
        @listener = Consumer::RebalanceListener.new(
          options:, node: @node, report:, consumer: @consumer, leave_policy: nil,
          scheduler: @scheduler, metrics: nil, fetch_errors: nil,
          lease: Processing::MembershipLease.new(10.0), topic_recreation: @topics = TopicIds.new,
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

      test "reads a topic that was created again since the commit as if there was none" do
        feed("orders", [%w[k a], %w[k b]])
        { "latest" => 2, "earliest" => 0 }.each do |reset, offset|
          commit("former")
          reset_to(reset)
          assert_equal [offset, offset], assign
          found = @consumer.committed_with_metadata([["orders", 0]], 5.0).fetch(["orders", 0])
          assert_equal [offset, "now"], [found.first, metadata(found).origin.topic_id]
        end
        assert_equal [{ "orders" => [0] }] * 2, recreated.map { |facts| facts[:partitions] }
      end

      test "reads it from there, too, if it can't commit that" do
        commit("former")
        @consumer.define_singleton_method(:commit) { |*| 22 }
        assert_equal [0, 0], assign
        @consumer.define_singleton_method(:beginnings) { |*| nil }
        assert_equal [-2, nil], assign
      end

      test "continues at a commit of this topic, of another cluster, and without an origin" do
        [["now"], ["former", "elsewhere"], []].each do |ids|
          commit(*ids)
          assert_equal [NO_OFFSET, 1], assign
        end
        assert_empty recreated
      end

      test "a commit counts if the topic's id isn't answered a second time" do
        commit("former")
        answers = [{ "orders" => "now" }]
        @topics.define_singleton_method(:ids_of) { |*| answers.shift || {} }
        assert_equal [NO_OFFSET, 1], assign
        assert_empty recreated
        assert_equal %w[here former], @topics.origin("orders").to_a
      end

      test "a commit's topic counts until the topic's id is answered, which shows the difference" do
        @topics.define_singleton_method(:ids_of) { |*| {} }
        [["former"], ["former", "elsewhere"], []].zip(["former", nil, nil]) do |ids, expected|
          @topics.forget
          commit(*ids)
          assert_equal [NO_OFFSET, 1], assign
          assert_equal [expected].compact, [@topics.origin("orders")&.topic_id].compact
        end
        assert_empty recreated
      end

      test "asks for the topic's id twice before a commit doesn't count" do
        commit("now")
        @topics.answers = %w[late now]
        assert_equal [NO_OFFSET, 1], assign
        assert_empty recreated
      end

      test "commits where a recreated topic is to be read from, as auto.offset.reset says" do
        feed("orders", [%w[k a], %w[k b]])
        { "latest" => 2, "error" => 0, "earliest" => 0 }.each do |reset, offset|
          assert_equal 0, @consumer.commit([["orders", 0, 1]], 5.0)
          reset_to(reset)
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

      test "commits nothing of a transactional source while its handlers run" do
        requests = 0
        @consumer.define_singleton_method(:begin_commit) { |all| super(all.tap { requests += 1 }) }
        [false, true].each do |transactional|
          use(transactional:)
          refute @listener.commit # nothing is done
        end
        assert_equal 1, requests
      end

      test "an assignment without a revocation replaces the last one" do
        commits = []
        @consumer.define_singleton_method(:begin_commit) { |all| super(all.tap { commits << all }) }
        @scheduler.define_singleton_method(:finish_revocation) do |partitions|
          super(partitions)
          [["former", 0, 3], ["orders", 0, 1]]
        end
        listener = reporting(node = Testing.node)
        Librdkafka::TopicPartitionList.make([["orders", 0]]) do |list|
          2.times { listener.partitions_assigned(list) }
        end
        assert_equal [["orders", 0]], @scheduler.keys
        assert_equal %w[assigned revoked assigned],
                     node.events_named(:kafka_rebalance).map { |facts| facts[:change] }
        assert_equal [[], [["orders", 0, 1]], []], commits
      end

      test "a new reader first drops what its queue has of an earlier assignment" do
        calls = []
        @consumer.define_singleton_method(:reader) do |*place, **how|
          super(*place, **how).tap do |reader|
            %i[drop_former begin_at].each do |name|
              reader.define_singleton_method(name) { |*args| super(*args.tap { calls << name }) }
            end
          end
        end
        assign
        assert_equal %i[drop_former begin_at], calls
      end

      test "reports a rebalance of more partitions than an event has room for" do
        keys = Array.new(12_000) { |number| ["#{"x" * 240}#{number}", 0] }
        node = Testing.node
        reporting(node).send(:report_rebalance, "lost", keys)
        facts = node.events_named(:kafka_rebalance).first
        assert_equal [2_000, 10_000], [facts[:partitions].size, facts[:partitions_left_out]]
      end

      private

      def commit(*ids)
        origin = Processing::OffsetOrigin.new(ids[1] || "here", ids[0]) if ids.any?
        text = Processing::CommitMetadata.write(1, origin:)
        assert_equal 0, @consumer.commit([["orders", 0, 1, nil, text]], 5.0)
      end

      # Returns where librdkafka is to begin, and the offset at which the reader expects that.
      def assign
        Librdkafka::TopicPartitionList.make([["orders", 0]]) do |list|
          @listener.send(:add, list)
          readers = @scheduler.readers
          @scheduler.finish_revocation(@scheduler.begin_revocation([["orders", 0]]))
          [list.to_a.first[2], readers.last.next_offset]
        end
      end

      def metadata(found) = Processing::CommitMetadata.read(found.last, found.first)

      def reset_to(place)
        use(kafka: options[:kafka].merge("auto.offset.reset" => place))
      end

      def use(**more)
        @listener.instance_variable_set(:@options, Config::SourceOptions.new(**options, **more))
      end

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
