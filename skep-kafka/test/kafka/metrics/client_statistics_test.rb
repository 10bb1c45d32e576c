# frozen_string_literal: true

require "kafka/support/kafka_case"
require "support/json_schema"

module Skep
  module Kafka
    # What skep reads from the statistics of a real client, and from unusual ones.
    class ClientStatisticsTest < ::KafkaCase
      BROKER = { "nodeid" => 1, "source" => "learned", "state" => "UP", "outbuf_cnt" => 2,
                 "waitresp_cnt" => 1, "disconnects" => 3, "req_timeouts" => 4,
                 "rtt" => { "avg" => 1500, "cnt" => 9 } }.freeze
      FETCH = { "leader" => 1, "fetchq_cnt" => 5, "fetchq_size" => 500, "acked_msgid" => 0 }.freeze
      SCHEMA = File.expand_path("../../../../docs/reference/status.schema.json", __dir__)
      private_constant :BROKER, :FETCH, :SCHEMA

      test "reads the statistics of a real client once its partitions are assigned" do
        broker(orders: 3)
        plain = nil
        kafka = { **@broker.settings, "statistics.interval.ms" => "100" }
        play({ kafka: }, on_event: lambda do |name, facts, node|
          plain = facts[:client] if name == "work"
          node.stop! if plain && plain["joined"] && plain["brokers"].all? { |one| one["up"] }
        end) { nil }

        assert_equal [1, "coordinator"], plain["brokers"].map { |one| one["id"] }
        assert_equal [0, 0], plain.values_at("fetched_messages", "fetched_bytes")
        assert_kind_of Integer, plain["queued_events"]
        assert_operator plain["rebalances"], :>=, 1
        assert_empty JsonSchema.load(SCHEMA).errors(plain, { "$ref" => "#/$defs/client" })
        assert_equal [0, 0], (plain["brokers"].map { |one| one["timeouts"] })
      end

      test "reads connections, queues and the membership" do
        statistics = statistics(
          brokers: { "kafka-1:9092/1" => BROKER },
          topics: { "orders" => { "partitions" => { "0" => FETCH, "1" => FETCH } } },
          cgrp: { "join_state" => "steady", "rebalance_cnt" => 7 }, replyq: 8
        )
        plain = statistics.to_plain

        assert_equal [true, 7, 8, 10, 1000],
                     plain.values_at("joined", "rebalances", "queued_events", "fetched_messages",
                                     "fetched_bytes")
        assert_equal [{ "id" => 1, "up" => true, "queued" => 2, "in_flight" => 1,
                        "disconnects" => 3, "timeouts" => 4, "rtt" => 0.0015 }], plain["brokers"]
        assert_equal [1, nil, {}], [statistics.partition("orders", 1)["leader"],
                                    statistics.partition("orders", 0)["acked_msgid"],
                                    statistics.partition("refunds", 0)]
        assert_equal [true, false], [statistics.up?(1), statistics.up?(2)]
      end

      test "leaves out a bootstrap broker, and one that the client doesn't need" do
        plain = statistics(brokers: {
                             "kafka:9092/bootstrap" => { **BROKER, "nodeid" => -1 },
                             "kafka-2:9092/2" => { **BROKER, "nodeid" => 2, "state" => "INIT" },
                             "kafka-3:9092/3" => { **BROKER, "nodeid" => 3, "state" => "DOWN" },
                             "GroupCoordinator" => { **BROKER, "nodeid" => -1, "rtt" => {} }
                           }).to_plain

        assert_equal([[3, false, 0.0015], ["coordinator", true, nil]],
                     plain["brokers"].map { |one| one.values_at("id", "up", "rtt") })
      end

      test "parses the JSON once, and only when a method needs it" do
        parsed = 0
        json = JSON.generate("cgrp" => { "join_state" => "wait-sync" })
        statistics = Metrics::ClientStatistics.new(json)
        statistics.define_singleton_method(:parse) { super().tap { parsed += 1 } }
        assert_equal ["wait-sync", 0], [statistics.join_state, parsed]
        2.times { statistics.to_plain && statistics.up?(1) && statistics.partition("orders", 0) }
        assert_equal 1, parsed
      end

      test "is empty if the statistics aren't valid JSON" do
        statistics = Metrics::ClientStatistics.new('{ "client_id": "our "best" client" }')

        assert_equal [[], nil, false, 0],
                     statistics.to_plain.values_at("brokers", "queued_events", "joined",
                                                   "fetched_bytes")
        assert_nil statistics.join_state
      end

      private

      def statistics(**facts) = Metrics::ClientStatistics.new(JSON.generate(facts))
    end
  end
end
