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
          @probe&.close
          super
        end

        test "raises NodeStalled once a broker answers a new client, and the outage goes on" do
          broker(orders: 1)
          began = OS.now
          error = assert_raises(NodeStalled) { look_until(began + Patience.of(20)) }

          assert_operator OS.now - began, :>=, 5.2
          assert_match(/the brokers, which answer a new client/, error.message)
          assert_equal [:kafka_stalled], @events.map(&:first)
        end

        test "leaves the client as it is if a broker answers it meanwhile" do
          broker(orders: 1)
          began = OS.now
          look_until(began + 2)
          @probe.look(outage: false)
          look_until(OS.now + 0.1)

          assert_empty @events
        end

        test "waits on while no broker answers a new client" do
          look_until(OS.now + 7, { "bootstrap.servers": "127.0.0.1:1" })

          assert_empty @events
        end

        private

        # Calls `look` when it is due, as the event loop does.
        def look_until(deadline, kafka = { "bootstrap.servers": @broker.bootstrap_servers })
          @probe ||= OutageProbe.for(options_for(kafka), Reports.new(@events))
          while OS.now < deadline
            @probe.look(outage: true)
            seconds = [@probe.seconds_left, deadline - OS.now].compact.min
            IO.select([@probe.io].compact, nil, nil, [seconds, 0].max)
          end
        end

        def options_for(kafka)
          Config::SourceOptions.new(kafka:, group: "g", topics: "orders", stall_timeout: 0.2)
        end
      end
    end
  end
end
