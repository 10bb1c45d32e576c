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
      SILENT = Fakes::KafkaEvent.new(:error, Librdkafka::ErrorCode::TIMED_OUT,
                                     "1 request(s) timed out: disconnect")
      # The metrics.
      Shown = Struct.new(:outage)
      private_constant :ALL_DOWN, :SILENT, :Shown

      def setup
        super
        broker(orders: 1)
        @events = []
        @node = FakeNode.new { |*event| @events << event }
        options = Config::SourceOptions.new(**self.options)
        @consumer = Consumer.new(options.settings.consumer("test", 0, group: "readers",
                                                                        commit_interval: 5.0))
        report = Metrics::EventReporter.new(@node, options.settings)
        @loop = OS::EventLoop.new
        @changes = []
        @broker_outage = Consumer::BrokerOutage.new(
          loop: @loop, options:, consumer: @consumer, report:, metrics: @shown = Shown.new,
          changed: -> { @changes << @broker_outage.suspected? }
        )
      end

      def teardown
        [@broker_outage, @loop, @consumer].compact.each(&:close)
        super
      end

      test "reports no outage if a broker answers, although librdkafka counts all as down" do
        assert @broker_outage.take_error(ALL_DOWN)
        assert_predicate @broker_outage, :suspected?
        turn_until { !@broker_outage.suspected? }

        assert_empty @events
        assert_equal [true, false], @changes
      end

      test "reports an outage once no broker has answered for a while, and its end" do
        @broker.down!
        @broker_outage.take_error(ALL_DOWN)
        turn_until { @broker_outage.certain? }
        @broker.up!
        turn_until { !@broker_outage.suspected? }

        assert_equal %w[kafka_disconnected kafka_reconnected], @events.map(&:first)
      end

      test "reports an outage if no broker answers after a request has timed out" do
        @broker.down!
        refute @broker_outage.take_error(SILENT)
        turn_until { @broker_outage.certain? }

        assert_equal "1 request(s) timed out: disconnect", @shown.outage.fetch("error")
        assert @broker_outage.take_error(SILENT)
      end

      test "reports no outage if a broker answers after a request to another has timed out" do
        refute @broker_outage.take_error(SILENT)
        assert_predicate @broker_outage, :suspected?
        turn_until { !@broker_outage.suspected? }

        assert_empty @events
      end

      test "reports an outage if no broker answers after the session has ended" do
        @broker.down!
        @broker_outage.session_lost
        turn_until { @broker_outage.certain? }

        assert_match(/session has ended/, @shown.outage.fetch("error"))
        @broker.up!
        turn_until { !@broker_outage.suspected? }

        @broker_outage.session_lost
        turn_until { !@broker_outage.suspected? }

        assert_equal %w[kafka_disconnected kafka_reconnected], @events.map(&:first)
      end

      test "a session that ends after the close begins nothing" do
        @broker_outage.close
        @loop.close
        @broker_outage.session_lost

        refute_predicate @broker_outage, :suspected?
      end

      test "the status has an outage while it lasts" do
        @broker.down!
        @broker_outage.take_error(ALL_DOWN)
        assert_nil @shown.outage
        turn_until { @broker_outage.certain? }
        assert_kind_of Float, @shown.outage.fetch("since")
        @broker.up!
        turn_until { !@broker_outage.suspected? }

        assert_nil @shown.outage
      end

      test "no_answer reports an outage and its end while librdkafka's events aren't read" do
        code = Librdkafka::ErrorCode::WAIT_COORD
        @broker.down!
        @broker_outage.no_answer(code)
        await { @broker_outage.no_answer(code) || @broker_outage.certain? }
        @broker_outage.no_answer(code)
        @broker.up!
        await { @broker_outage.no_answer(code) || !@broker_outage.suspected? }

        assert_empty @changes
        assert_equal %w[kafka_disconnected kafka_reconnected], @events.map(&:first)
        assert_match(/coordinator/, @events.first.last[:error])
      end

      test "no_answer ignores an error code that a coordinator has returned" do
        @broker_outage.no_answer(Librdkafka::ErrorCode::NOT_COORDINATOR)

        refute_predicate @broker_outage, :suspected?
      end

      private

      def turn_until
        deadline = deadline(Patience.of(20))
        @loop.turn(seconds_until(deadline)) until yield
      end

      # The loop doesn't turn meanwhile.
      def await
        deadline = deadline(Patience.of(20))
        IO.select(nil, nil, nil, [0.1, seconds_until(deadline)].min) until yield
      end
    end
  end
end
