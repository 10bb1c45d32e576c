# frozen_string_literal: true

require "skep/fork"
require "skep/plugin"
require "skep/kafka/group_status"
require "skep/kafka/metrics/prometheus_collector"

# What skep's commands, log, metrics and page get from its part for Kafka: how a swarm's consumer
# groups are shown, which is read from its status (GroupStatus). No client is needed for it, and
# neither skep/kafka nor librdkafka is loaded.
module Skep
  module Kafka
    class Plugin < Skep::Plugin
      EVENTS = %w[
        kafka_rebalance kafka_instance_id_taken kafka_unreachable kafka_disconnected
        kafka_reconnected kafka_topic_missing kafka_error kafka_commit_failed
        kafka_unauthorized kafka_topic_recreated
        kafka_offset_reset messages_lost kafka_unreadable kafka_readable kafka_log
        kafka_delivery_failed kafka_transaction_waiting kafka_transactional_id_taken
        kafka_revoked_in_flight kafka_left_group kafka_leave_failed kafka_stop_failed
        kafka_member_fenced kafka_topics_changed
        kafka_progress_resumed kafka_progress_unused
        kafka_backpressure kafka_paused kafka_seek kafka_seek_waiting kafka_stalled
        kafka_database_offset_behind kafka_database_offset_reset
        handler_failed handler_exited dead_lettered not_dead_lettered clock_behind
        message_isolated message_quarantined kafka_process_unfit
        kafka_dependency_away kafka_dependency_back
      ].freeze
      ADVICE = {
        source: "for Kafka: Skep::Kafka::Source.new(topics: …)",
        producer: "Skep::Kafka::Producer.new({ \"bootstrap.servers\": \"…\" }, node:)"
      }.freeze
      PLACE = %w[topic partition offset last_offset].freeze
      ERROR = 200 # characters of an error
      private_constant :EVENTS, :ADVICE, :PLACE, :ERROR

      def command
        require "skep/kafka/command"
        Command
      end

      def events = EVENTS
      def metrics = Metrics::PrometheusCollector::DEFINITIONS
      def collect(status, output) = Metrics::PrometheusCollector.new(output).collect(status)
      def problems(status) = GroupStatus::Problems.of(status)
      def problem_kinds = GroupStatus::Problems::KINDS
      def lag(status) = GroupStatus.lag(GroupStatus.all(status))

      def status_lines(status, partitions:)
        require "skep/kafka/group_status/lines"
        GroupStatus.all(status).flat_map { |group| GroupStatus::Lines.new(group, partitions:).to_a }
      end

      def page(status)
        groups = GroupStatus.all(status)
        { "lag" => GroupStatus.lag(groups),
          "partitions" => groups.flat_map { |group| rows(group) }.to_h,
          "totals" => groups.to_h { |group| [group.name, group.totals] } }
      end

      # For example "orders/3@41-45" or "orders/3@41".
      def place(facts)
        topic, partition, offset, last = facts.values_at(*PLACE)
        words = facts.slice(*PLACE.first(3)).map { |name, value| "#{name}=#{value}" }
        words = ["#{topic}/#{partition}@#{[offset, *last].uniq.join("-")}"] if words.size == 3
        [words, facts.except(*PLACE)]
      end

      def advice = ADVICE

      private

      def rows(group)
        group.partitions.map do |one|
          p50, p99 = one.handler_times
          ["#{group.name}/#{one.topic}/#{one.number}",
           { "group" => group.name, "topic" => one.topic, "partition" => one.number,
             "node" => one.node&.to_s, "position" => one.position, "lag" => one.lag,
             "rate" => one.rate, "p50" => p50, "p99" => p99, "failing" => failing(one),
             "stalled_since" => one.stalled_since, **one.counts }]
        end
      end

      # since: monotonic seconds. An age would be another one in each status.
      def failing(partition)
        facts = partition.failing or return
        { "words" => GroupStatus::CAUSES.fetch(facts["cause"]),
          "level" => GroupStatus::Problems.level(facts),
          **facts.slice("since", "offset", "attempt", "at"),
          "error" => facts["error"]&.slice(0, ERROR) }
      end
    end
  end
end

Skep::Plugin.add("kafka", Skep::Kafka::Plugin.new)

# librdkafka's clients, for the guard of forks: also those that a program makes without skep.
client = { open?: ->(it) { !it.closed? }, connected: false, threads: /\Ardk:/ }
gone = "a child has none of its threads, and hangs or crashes when it uses or frees it: " \
       "make it in each child, and close it before the fork"
%w[Consumer Producer Admin].each do |name|
  Skep::Fork::Guard.add_client("Rdkafka::#{name}", **client, finalized: true, advice: gone)
end
Skep::Fork::Guard.add_client(
  "Skep::Kafka::Producer", **client,
  advice: "a child has none of its threads, and may not use it: make it in each child"
)
