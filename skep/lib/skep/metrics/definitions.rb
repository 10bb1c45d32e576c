# frozen_string_literal: true

# Every metric: its type, its labels and its help text; first skep's own, then those of its plugins.
# docs/reference/metrics.md has the same table; a test compares them.
#
#   Definitions.all["skep_nodes"].type      # => "gauge"
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
        gauge skep_build_info{swarm,version,ruby,revision}
          The swarm, its versions and the revision of its code; always 1.
        gauge skep_uptime_seconds
          Time since the swarm was started.
        gauge skep_swarm_state{state}
          1 for the present state of the swarm, 0 for the others.
        gauge skep_crash_loop
          1 while a node, a spare or the helper is in a crash loop.
        gauge skep_problem{kind}
          Problems of this kind that the swarm has at present.
        gauge skep_nodes_wanted
          Configured number of nodes.
        gauge skep_nodes{state}
          Nodes in this state, with spares.
        gauge skep_work_nodes_wanted{work,work_name}
          Number of nodes of the work.
        gauge skep_work_nodes{work,work_name,state}
          Nodes of the work in this state.
        gauge skep_node_work{node,work,work_name}
          Which work the node does; always 1.
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
          Time of the handler for a batch; `topic` only of sources that have topics.
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

      module_function

      def all
        [TABLE, *Plugin.loaded.values.map(&:metrics)].map { |text| read(text) }.reduce(:merge)
      end

      def read(text)
        text.lines(chomp: true).each_slice(2).to_h do |head, help|
          type, name, labels = head.match(/\A(\w+) (\w+)(?:\{(.*)\})?\z/).captures
          [name, Metric.new(type, labels.to_s.split(","), help.strip, BOUNDS[name]).freeze]
        end
      end
      private_class_method :read
    end
  end
end
