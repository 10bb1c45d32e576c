# frozen_string_literal: true

# Every metric there is: its type, its labels, what it says. docs/metrics.md has the same table, and
# a test compares them.
#
#   Catalog::ALL["skep_nodes"].type      # => "gauge"
#
# Names follow https://prometheus.io/docs/practices/naming/: base units, counters end in _total.
module Skep
  module Watch
    module Metrics
      module Catalog
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
            The swarm, and what it runs on; always 1.
          gauge skep_uptime_seconds
            Time since the swarm was started.
          gauge skep_swarm_state{state}
            1 for the state the swarm is in, 0 for the others.
          gauge skep_crash_loop
            1 while a node dies more often than it may.
          gauge skep_nodes_wanted
            Nodes there are to be.
          gauge skep_nodes{state}
            Nodes in this state, spares among them.
          gauge skep_node_state{node,state}
            1 for the state the node is in, 0 for the others.
          gauge skep_node_joined{node}
            1 while the node has what it works on, such as partitions.
          gauge skep_node_crash_loop{node}
            1 while the node dies more often than it may.
          gauge skep_node_unhealthy{node}
            1 while the node says that it can't do its work.
          gauge skep_node_mold{node}
            Number of the mold the node was forked from.
          gauge skep_node_beat_age_seconds{node}
            Time since the node's last sign of progress.
          gauge skep_node_memory_bytes{node,kind}
            Memory of the node: rss, pss, uss (its own), shared or swap.
          counter skep_node_cpu_seconds_total{node}
            Processor time of the node's process.
          counter skep_node_done_total{node}
            Messages or items the node's process is done with.
          counter skep_node_restarts_total{node,reason}
            Times a new process took the node's slot, by what had ended the one before.
          counter skep_node_deaths_total{node,at}
            Deaths of the node that count for a crash loop, before it was ready (boot) or after (work).
          histogram skep_recovery_seconds
            Time from a node's end to the readiness of the next one in its slot.
          histogram skep_handler_seconds{work,group}
            Time the handler took for a batch.
          counter skep_kafka_messages_total{work,group}
            Messages that are done with.
          counter skep_kafka_batches_total{work,group}
            Calls of the handler.
          counter skep_kafka_retries_total{work,group}
            Calls of the handler that failed and were made again.
          counter skep_kafka_dead_letters_total{work,group}
            Messages written to the dead letter topic.
          counter skep_kafka_skipped_total{work,group}
            Messages set aside without a trace but this.
          counter skep_kafka_filtered_total{work,group}
            Messages the filter kept from the handler.
          counter skep_kafka_rebalances_total{work,group}
            Times that partitions came to a node or went.
          gauge skep_kafka_partitions{node,group}
            Partitions the node has.
          gauge skep_kafka_lag{group,topic,partition}
            Messages of the partition that are yet to be done.
          gauge skep_kafka_position{group,topic,partition}
            Offset the partition goes on with.
          gauge skep_kafka_end{group,topic,partition}
            Offset after the partition's last message.
          counter skep_work_total{work,name}
            What a work of another kind counts, by its own names.
          gauge skep_suspects
            Things that were in hand when nodes crashed, and may be to blame.
          counter skep_events_total{event}
            Events told, by name.
          gauge skep_supervisor_memory_bytes{kind}
            Memory of the supervisor: rss.
          gauge skep_supervisor_descriptors
            File descriptors the supervisor has open.
          counter skep_supervisor_cpu_seconds_total
            Processor time of the supervisor.
          gauge skep_answer_seconds
            Time the supervisor took to answer this scrape.
        TEXT
        private_constant :BOUNDS, :TABLE

        ALL = TABLE.lines(chomp: true).each_slice(2).to_h { |head, help|
          type, name, labels = head.match(/\A(\w+) (\w+)(?:\{(.*)\})?\z/).captures
          [name, Metric.new(type, labels.to_s.split(","), help.strip, BOUNDS[name]).freeze]
        }.freeze
      end
    end
  end
end
