# frozen_string_literal: true

# The metrics of Kafka: the totals of each work by topic, the lag and position of each partition,
# and each node's statistics of librdkafka.
#
#   PrometheusCollector.new(prometheus_text).collect(status)    # status: as in `skep status --json`
module Skep
  module Kafka
    module Metrics
      class PrometheusCollector
        DEFINITIONS = <<~TEXT
          counter skep_kafka_messages_total{work,group,topic}
            Finished messages.
          counter skep_kafka_batches_total{work,group,topic}
            Calls of the handler.
          counter skep_kafka_retries_total{work,group,topic}
            Calls of the handler that failed and were repeated.
          counter skep_kafka_failures_total{work,group,topic}
            Calls of the handler, with its filter and deserializer, that raised an error.
          counter skep_kafka_verdicts_total{work,group,topic,cause}
            Failures, by what skep takes for their cause.
          gauge skep_kafka_dependency_away{group,topic}
            1 while a dependency of the topic's handler, or a part of it, is unavailable.
          counter skep_kafka_dead_letters_total{work,group,topic}
            Messages written to the dead letter topic.
          counter skep_kafka_skipped_total{work,group,topic}
            Messages that were skipped without a dead letter.
          counter skep_kafka_filtered_total{work,group,topic}
            Messages that the filter rejected.
          counter skep_kafka_rebalances_total{work,group}
            Times that partitions were assigned or revoked.
          counter skep_kafka_stalls_total{work,group,topic}
            Times that a partition with messages made no progress for `stall_timeout`.
          gauge skep_kafka_partitions{node,group}
            Partitions of the node.
          gauge skep_kafka_lag{group,topic,partition}
            Messages of the partition that are not finished.
          gauge skep_kafka_lag_unknown{node,group}
            Partitions of the node whose lag is unknown.
          gauge skep_kafka_position{group,topic,partition}
            Next offset of the partition.
          gauge skep_kafka_end{group,topic,partition}
            Offset after the partition's last message.
          gauge skep_kafka_client_joined{node,group}
            1 while the node's client is a member of its group and has its partitions.
          counter skep_kafka_client_rebalances_total{node,group}
            Rebalances that the node's client has taken part in.
          gauge skep_kafka_client_fetched_messages{node,group}
            Fetched messages that wait in the node's client.
          gauge skep_kafka_client_fetched_bytes{node,group}
            Memory of these messages.
          gauge skep_kafka_client_queued_events{node,group}
            Events of the client that skep has not read yet.
          gauge skep_kafka_client_broker_up{node,group,broker}
            1 while the node's client is connected to the broker.
          gauge skep_kafka_client_requests{node,group,broker,state}
            Requests to the broker: queued in the client, or in_flight.
          gauge skep_kafka_client_rtt_seconds{node,group,broker}
            Average time of the broker's answers since the last statistics.
          counter skep_kafka_client_disconnects_total{node,group,broker}
            Connections to the broker that ended.
          counter skep_kafka_client_timeouts_total{node,group,broker}
            Requests that the broker did not answer in time.
        TEXT
        BY_TOPIC = %w[messages batches retries failures dead_letters skipped filtered stalls].freeze
        NO_TIME = { "count" => 0, "sum" => 0, "buckets" => [].freeze }.freeze
        NOTHING = { "totals" => {}.freeze, "handler" => NO_TIME }.freeze
        CLIENT = { "joined" => "joined", "rebalances_total" => "rebalances",
                   "fetched_messages" => "fetched_messages", "fetched_bytes" => "fetched_bytes",
                   "queued_events" => "queued_events" }.freeze
        BROKER = { "broker_up" => "up", "rtt_seconds" => "rtt",
                   "disconnects_total" => "disconnects", "timeouts_total" => "timeouts" }.freeze
        private_constant :BY_TOPIC, :NO_TIME, :NOTHING, :CLIENT, :BROKER

        def initialize(output)
          @output = output
        end

        def collect(status)
          status["works"].each { |work| work(work) if work["kind"] == "kafka" }
          GroupStatus.all(status).each { |group| group(group) }
        end

        private

        def add(name, value, **labels) = @output.add("skep_#{name}", value, **labels)

        # A rebalance is of the group, not of a topic.
        def work(facts)
          labels = { work: facts["work"], group: facts["group"] }
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
          GroupStatus::CAUSES.each_key do |cause|
            add("kafka_verdicts_total", totals.fetch("verdict_#{cause}", 0), **labels, cause:)
          end
        end

        # Those that the source names are reported from the start, so that Prometheus sees their
        # first increase; those of a pattern once a node has processed one of their batches.
        def topics(facts)
          named = Array(facts["topics"]).reject { |topic| topic.start_with?("^") }
          seen = Array(facts["by_topic"]).to_h { |row| [row["topic"], row] }
          { **named.to_h { |topic| [topic, NOTHING] }, **seen }
        end

        def group(group)
          group.nodes.each { |node| node(node, group.name) }
          group.partitions.each { |one| partition(one, group.name) if one.node }
          away = group.without_dependency
          group.partitions.map(&:topic).uniq.each do |topic|
            add("kafka_dependency_away", away.include?(topic), group: group.name, topic:)
          end
        end

        def node(node, group)
          labels = { node: node["id"], group: }
          work = node["work"]
          ended = GroupStatus.ended?(node)
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
end
