# frozen_string_literal: true

# Every metric: its type, its labels and its help text. docs/reference/metrics.md has the same
# table; a test compares them.
#
#   Definitions::ALL["skep_nodes"].type      # => "gauge"
#
# Names follow https://prometheus.io/docs/practices/naming/: base units, counters end in _total.
module Skep
  module Metrics
    module Definitions
      Metric = Struct.new(:type, :labels, :help, :bounds)
      private_constant :Metric

      # Upper bounds of a histogram's buckets, in seconds.
      BOUNDS = {
        "skep_handler_seconds" =>
          [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
           2.5, 5.0, 10.0, 30.0, 60.0, 300.0].freeze,
        "skep_recovery_seconds" =>
          [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
           1800.0].freeze
      }.freeze

      TABLE = <<~TEXT
        gauge skep_build_info{swarm,version,ruby}
          The swarm and its versions; always 1.
        gauge skep_uptime_seconds
          Time since the swarm was started.
        gauge skep_swarm_state{state}
          1 for the present state of the swarm, 0 for the others.
        gauge skep_crash_loop
          1 while a node is in a crash loop.
        gauge skep_nodes_wanted
          Configured number of nodes.
        gauge skep_nodes{state}
          Nodes in this state, with spares.
        gauge skep_node_state{node,state}
          1 for the present state of the node, 0 for the others.
        gauge skep_node_assigned{node}
          1 while the node has what it processes, such as partitions.
        gauge skep_node_crash_loop{node}
          1 while the node is in a crash loop.
        gauge skep_node_unhealthy{node}
          1 while the node reports that it cannot work.
        gauge skep_node_mold{node}
          Number of the mold from which the node was forked.
        gauge skep_node_beat_age_seconds{node}
          Time since the node's last heartbeat.
        gauge skep_node_memory_bytes{node,kind}
          Memory of the node: rss, pss, uss (its own), shared or swap.
        counter skep_node_cpu_seconds_total{node}
          Processor time of the node's process.
        counter skep_node_done_total{node}
          Items that the node's process has finished.
        counter skep_node_restarts_total{node,reason}
          New processes in the node's slot, by what ended the one before.
        counter skep_node_deaths_total{node,phase}
          Deaths of the node that count for a crash loop, at boot or at work.
        histogram skep_recovery_seconds
          Time from a node's end until its slot has a ready node again.
        histogram skep_handler_seconds{work,group,topic}
          Time of the handler for a batch; `topic` only of Kafka sources.
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
          Messages that were set aside without a dead letter.
        counter skep_kafka_filtered_total{work,group,topic}
          Messages that the filter rejected.
        counter skep_kafka_rebalances_total{work,group}
          Times that partitions were assigned or revoked.
        counter skep_kafka_stalls_total{work,group,topic}
          Times that a partition with messages stood still for `stall_timeout`.
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
        counter skep_work_total{work,name}
          Totals of other works, by their own names.
        gauge skep_suspects
          What was in flight when nodes crashed, and may be the cause.
        counter skep_events_total{event}
          Events, by name.
        gauge skep_supervisor_memory_bytes{kind}
          Memory of the supervisor: rss.
        gauge skep_supervisor_descriptors
          Open file descriptors of the supervisor.
        counter skep_supervisor_cpu_seconds_total
          Processor time of the supervisor.
        gauge skep_answer_seconds
          Time of the supervisor to answer this scrape.
      TEXT
      private_constant :BOUNDS, :TABLE

      ALL = TABLE.lines(chomp: true).each_slice(2).to_h { |head, help|
        type, name, labels = head.match(/\A(\w+) (\w+)(?:\{(.*)\})?\z/).captures
        [name, Metric.new(type, labels.to_s.split(","), help.strip, BOUNDS[name]).freeze]
      }.freeze
    end
  end
end
