# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    class Consumer
      # Whether a long outage tries a new client, and what follows from its answer.
      class OutageProbeTest < ::KafkaCase
        # Keeps what is reported.
        Reports = Struct.new(:events) do
          def event(name, **facts) = events << [name, facts]
        end
        private_constant :Reports

        def setup
          super
          @events = []
        end

        def teardown
          [@probe, @loop].compact.each(&:close)
          super
        end

        test "raises NodeStalled once a broker answers a new client, and the outage goes on" do
          broker(orders: 1)
          began = OS.now
          error = assert_raises(NodeStalled) { turn_for(Patience.of(20)) }

          assert_operator OS.now - began, :>=, 5.2
          assert_match(/the brokers, which answer a new client/, error.message)
          assert_equal [:kafka_stalled], @events.map(&:first)
        end

        test "leaves the client as it is if a broker answers it meanwhile" do
          broker(orders: 1)
          turn_for(2)
          @probe.close
          @loop.turn(0.1)

          assert_match(/ios=0 timers=0/, @loop.inspect)
          assert_empty @events
        end

        test "waits on while no broker answers a new client" do
          turn_for(7, { "bootstrap.servers": "127.0.0.1:1" })

          assert_empty @events
        end

        private

        # Turns the loop for so many seconds of an outage.
        def turn_for(seconds, kafka = { "bootstrap.servers": @broker.bootstrap_servers })
          @loop = OS::EventLoop.new
          @probe = OutageProbe.for(options_for(kafka), Reports.new(@events), @loop)
          @probe.start
          deadline = OS.now + seconds
          @loop.turn(deadline - OS.now) while OS.now < deadline
        end

        def options_for(kafka)
          Config::SourceOptions.new(kafka:, group: "g", topics: "orders", stall_timeout: 0.2)
        end
      end
    end
  end
end
