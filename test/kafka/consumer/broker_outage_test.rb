# frozen_string_literal: true

require "kafka/support/kafka_case"
require "support/fakes"

module Skep
  module Kafka
    # When BrokerOutage reports an outage.
    class BrokerOutageTest < ::KafkaCase
      # As librdkafka reports it.
      ALL_DOWN = Fakes::KafkaEvent.new(:error, Librdkafka::ErrorCode::ALL_BROKERS_DOWN,
                                       "3/3 brokers are down")
      private_constant :ALL_DOWN

      def setup
        super
        broker(orders: 1)
        @events = []
        @node = FakeNode.new { |*event| @events << event }
        options = Config::SourceOptions.new(**self.options)
        @consumer = Consumer.new(options.settings.consumer("test", 0, group: "readers",
                                                                        commit_interval: 5.0))
        report = Metrics::EventReporter.new(@node, options.settings)
        @broker_outage = Consumer::BrokerOutage.new(settings: options.settings,
                                                    consumer: @consumer, report:)
      end

      def teardown
        @broker_outage&.close
        @consumer&.close
        super
      end

      test "reports no outage if a broker answers, although librdkafka counts all as down" do
        assert @broker_outage.take_error(ALL_DOWN)
        assert_predicate @broker_outage, :suspected?
        wait_readable(@broker_outage.io)
        @broker_outage.broker_answered

        assert_empty @events
        refute_predicate @broker_outage, :suspected?
      end

      test "reports an outage once no broker has answered for a while, and its end" do
        @broker.down!
        @broker_outage.take_error(ALL_DOWN)
        IO.select(nil, nil, nil, @broker_outage.seconds_left || 0)
        2.times { @broker_outage.report_when_certain }
        @broker.up!
        wait_readable(@broker_outage.io)
        @broker_outage.broker_answered

        assert_equal %w[kafka_disconnected kafka_reconnected], @events.map(&:first)
      end

      test "no_answer reports an outage and its end while librdkafka's events aren't read" do
        code = Librdkafka::ErrorCode::WAIT_COORD
        @broker.down!
        @broker_outage.no_answer(code)
        IO.select(nil, nil, nil, @broker_outage.seconds_left)
        2.times { @broker_outage.no_answer(code) }
        @broker.up!
        wait_readable(@broker_outage.io)
        @broker_outage.no_answer(code)

        assert_equal %w[kafka_disconnected kafka_reconnected], @events.map(&:first)
        assert_match(/coordinator/, @events.first.last[:error])
      end

      test "no_answer ignores an error code that a coordinator has returned" do
        @broker_outage.no_answer(Librdkafka::ErrorCode::NOT_COORDINATOR)

        refute_predicate @broker_outage, :suspected?
      end
    end
  end
end
