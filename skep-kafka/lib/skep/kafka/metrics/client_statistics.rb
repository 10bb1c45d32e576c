# frozen_string_literal: true

require "json"

# One report of librdkafka's statistics: the connections to brokers, the membership of the group and
# the fetched messages that wait. It is parsed once, when something of it is needed, and keeps only
# what skep reads. Thread-safe.
#
#   statistics = ClientStatistics.new(json)
#   statistics.join_state               # => "steady"; nil before the client has a group
#   statistics.states                   # => ["UP", "INIT", "steady"], of all connections, and it
#   statistics.partition("orders", 0)   # => { "leader" => 1, "fetchq_cnt" => 0, … }
#   statistics.up?(1)                   # => true: the client is connected to broker 1
#   statistics.to_plain                 # => `client` of a node's work in `skep status --json`
#
# Source: librdkafka's STATISTICS.md
module Skep
  module Kafka
    module Metrics
      class ClientStatistics
        COORDINATOR = "GroupCoordinator" # librdkafka's name of a connection of its own
        UP = %w[UP UPDATE REAUTH].freeze
        UNUSED = "INIT" # the client needs no connection to this broker
        JOINED = "steady"
        BROKER = %w[nodeid source state outbuf_cnt waitresp_cnt disconnects req_timeouts
                    rtt].freeze
        PARTITION = %w[leader leader_epoch fetch_state next_offset fetchq_cnt fetchq_size].freeze
        private_constant :COORDINATOR, :UP, :UNUSED, :JOINED, :BROKER, :PARTITION

        attr_reader :join_state
        attr_reader :states

        def initialize(json)
          @json = json
          @join_state = json[/"join_state": ?"([^"]*)"/, 1]
          @states = [*json.scan(/"state": ?"([^"]*)"/).flatten, join_state]
          @lock = Mutex.new
        end

        def partition(topic, number) = parsed["partitions"].dig(topic, number.to_s).to_h

        def up?(id)
          parsed["brokers"].any? { |_, broker| broker["nodeid"] == id && broker["state"] == "UP" }
        end

        def to_plain
          partitions = parsed["partitions"].values.flat_map(&:values)
          { "brokers" => brokers, "queued_events" => parsed["replyq"],
            "rebalances" => parsed["rebalances"], "joined" => join_state == JOINED,
            "fetched_messages" => partitions.sum { |one| one["fetchq_cnt"].to_i },
            "fetched_bytes" => partitions.sum { |one| one["fetchq_size"].to_i } }
        end

        def inspect = "#<Skep::Kafka::Metrics::ClientStatistics #{join_state}>"

        private

        def parsed
          @lock.synchronize do
            @parsed ||= needed(parse)
            @json = nil
            @parsed
          end
        end

        # librdkafka writes texts as they are: a client.id with a quote makes this no JSON.
        def parse
          JSON.parse(@json)
        rescue JSON::ParserError
          {}
        end

        def needed(all)
          topics = all["topics"].to_h.transform_values do |topic|
            topic["partitions"].to_h.transform_values { |one| one.slice(*PARTITION) }
          end
          { "replyq" => all["replyq"], "rebalances" => all.dig("cgrp", "rebalance_cnt"),
            "brokers" => all["brokers"].to_h.transform_values { |one| one.slice(*BROKER) },
            "partitions" => topics }
        end

        # The addresses of bootstrap.servers are left out: a broker that answered there has an id.
        def brokers
          rows = parsed["brokers"].map do |name, broker|
            id = name == COORDINATOR ? "coordinator" : broker["nodeid"]
            broker(id, broker) unless id == -1 || broker["state"] == UNUSED
          end
          rows.compact
        end

        def broker(id, facts)
          rtt = facts["rtt"].to_h
          { "id" => id, "up" => UP.include?(facts["state"]), "queued" => facts["outbuf_cnt"],
            "in_flight" => facts["waitresp_cnt"], "disconnects" => facts["disconnects"],
            "timeouts" => facts["req_timeouts"],
            "rtt" => (rtt["avg"] / 1e6 if rtt["cnt"].to_i.positive?) }
        end
      end
    end
  end
end
