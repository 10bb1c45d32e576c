# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # The last words of a event loop whose thread has ended.
    class KeeperTest < ::KafkaCase
      # As librdkafka says it.
      Word = Struct.new(:kind, :code, :text) do
        def fatal? = false
      end
      ALL_DOWN = Word.new(:error, Librdkafka::ErrorCode::ALL_BROKERS_DOWN, "1/1 brokers are down")
      private_constant :Word, :ALL_DOWN

      def setup
        super
        broker(orders: 1)
        @child = FakeChild.new
        options = Config::SourceOptions.new(**self.options)
        @consumer = Consumer.new(options.settings.consumer("test", 0, group: "readers",
                                                                        commit_every: 5.0))
        @tools = Processing::Tools.new(options:, child: @child, consumer: @consumer, scheduler: Processing::Scheduler.new,
                           lease: Processing::MembershipLease.new(60.0),
                           report: Metrics::EventReporter.new(@child, options.settings))
      end

      def teardown
        @tools&.scheduler&.clear
        @consumer&.close
        super
      end

      test "lengthens the fetch wait a second after it was shortened" do
        long, witness = IO.pipe
        @consumer.fetch_wait.define_singleton_method(:look) do
          super().tap { witness.write("l") if seconds_left.nil? }
        end
        event_loop = Consumer::EventLoop.new(@tools)
        @consumer.fetch_wait.shorten
        event_loop.start
        wait_readable(long)
        assert_includes @consumer.fetch_wait.inspect, "500 ms"
      ensure
        event_loop&.stop
        [long, witness].compact.each(&:close)
      end

      test "asks nobody who is there any more while it waits to commit at the end" do
        codes = [Librdkafka::ErrorCode::REBALANCING.first, 0]
        @consumer.define_singleton_method(:commit) { |*| codes.shift }
        @consumer.control.define_singleton_method(:wait) { |_, &heard| heard.call(ALL_DOWN) }
        event_loop = Consumer::EventLoop.new(@tools).tap(&:start)
        event_loop.stop

        assert event_loop.commit_last
        assert_empty Thread.list.map(&:name).grep("skep.kafka.topics")
      end
    end
  end
end
