# frozen_string_literal: true

require "skep/kafka/group_status"

# Collects the metrics of the work: the totals of each work over the swarm's life, those of Kafka by
# topic, the lag and position of each Kafka partition, and each node's statistics of librdkafka.
#
#   WorkCollector.new(prometheus_text).collect(status)    # status: as in `skep status --json`
module Skep
  module Metrics
    class WorkCollector
      BY_TOPIC = %w[messages batches retries failures dead_letters skipped filtered stalls].freeze
      NOTHING = { "totals" => {}.freeze,
                  "handler" => { "count" => 0, "sum" => 0, "buckets" => [].freeze }.freeze }.freeze
      CLIENT = { "joined" => "joined", "rebalances_total" => "rebalances",
                 "fetched_messages" => "fetched_messages", "fetched_bytes" => "fetched_bytes",
                 "queued_events" => "queued_events" }.freeze
      BROKER = { "broker_up" => "up", "rtt_seconds" => "rtt", "disconnects_total" => "disconnects",
                 "timeouts_total" => "timeouts" }.freeze
      private_constant :BY_TOPIC, :NOTHING, :CLIENT, :BROKER

      def initialize(output)
        @output = output
      end

      def collect(status)
        status["works"].each { |work| work(work) }
        Kafka::GroupStatus.all(status).each { |group| group(group) }
      end

      private

      def add(name, value, **labels) = @output.add("skep_#{name}", value, **labels)

      def work(facts)
        labels = { work: facts["work"], group: facts["group"] }
        return kafka(facts, labels) if facts["kind"] == "kafka"

        add("handler_seconds", facts["handler"], **labels)
        work = facts["work"]
        facts["totals"].each { |name, count| add("work_total", count, work:, name:) }
      end

      # A rebalance is of the group, not of a topic.
      def kafka(facts, labels)
        add("kafka_rebalances_total", facts["totals"].fetch("rebalances", 0), **labels)
        topics(facts).each do |topic, done|
          add("handler_seconds", done["handler"], **labels, topic:)
          BY_TOPIC.each do |name|
            add("kafka_#{name}_total", done["totals"].fetch(name, 0), **labels, topic:)
          end
          verdicts(done["totals"], **labels, topic:)
        end
      end

      def verdicts(totals, **labels)
        Kafka::GroupStatus::CAUSES.each_key do |cause|
          add("kafka_verdicts_total", totals.fetch("verdict_#{cause}", 0), **labels, cause:)
        end
      end

      # Those that the source names are reported from the start, so that Prometheus sees their first
      # increase; those of a pattern once a node has processed one of their batches.
      def topics(facts)
        named = Array(facts["topics"]).reject { |topic| topic.start_with?("^") }
        seen = Array(facts["by_topic"]).to_h { |row| [row["topic"], row] }
        { **named.to_h { |topic| [topic, NOTHING] }, **seen }
      end

      def group(group)
        group.nodes.each { |node| node(node, group.name) }
        group.partitions.each { |one| partition(one, group.name) if one.node }
        away = group.failing.select(&:unavailable?).map(&:topic)
        group.partitions.map(&:topic).uniq.each do |topic|
          add("kafka_dependency_away", away.include?(topic), group: group.name, topic:)
        end
      end

      def node(node, group)
        labels = { node: node["id"], group: }
        work = node["work"]
        ended = Kafka::GroupStatus.ended?(node)
        held = ended ? 0 : work["partitions"].count { |row| row["held"] }
        add("kafka_partitions", held, **labels)
        add("kafka_lag_unknown", work["lag_unknown"], **labels) unless ended
        client(work["client"], labels) if work["client"].is_a?(Hash)
      end

      def partition(one, group)
        labels = { group:, topic: one.topic, partition: one.number }
        %i[lag position end].each { |name| add("kafka_#{name}", one.public_send(name), **labels) }
      end

      def client(facts, labels)
        CLIENT.each { |name, key| add("kafka_client_#{name}", facts[key], **labels) }
        Array(facts["brokers"]).grep(Hash).each do |broker|
          broker(broker, { **labels, broker: broker["id"] })
        end
      end

      def broker(facts, labels)
        BROKER.each { |name, key| add("kafka_client_#{name}", facts[key], **labels) }
        %w[queued in_flight].each do |state|
          add("kafka_client_requests", facts[state], **labels, state:)
        end
      end
    end
  end
end
