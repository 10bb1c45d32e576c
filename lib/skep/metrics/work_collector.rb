# frozen_string_literal: true

# Collects the metrics of the work: the totals of each work over the swarm's life, and the lag and
# position of each Kafka partition.
#
#   WorkCollector.new(prometheus_text).collect(status)    # status: as in `skep status --json`
module Skep
  module Metrics
    class WorkCollector
      KAFKA = %w[messages batches retries dead_letters skipped filtered rebalances
                 stalls].freeze
      private_constant :KAFKA

      def initialize(output)
        @output = output
      end

      def collect(status)
        status["works"].each { |work| work(work) }
        nodes = status["nodes"].select { |node| node.dig("work", "kind") == "kafka" }
        nodes.each { |node| partition_count(node) }
        partitions(nodes).each { |key, row| partition(key, row) }
      end

      private

      def add(name, value, **labels) = @output.add("skep_#{name}", value, **labels)

      def work(facts)
        labels = { work: facts["work"], group: facts["group"] }
        add("handler_seconds", facts["handler"], **labels)
        return KAFKA.each { |name| total(facts, name, labels) } if facts["kind"] == "kafka"

        work = facts["work"]
        facts["totals"].each { |name, count| add("work_total", count, work:, name:) }
      end

      def total(facts, name, labels)
        add("kafka_#{name}_total", facts["totals"].fetch(name, 0), **labels)
      end

      def partition_count(node)
        add("kafka_partitions", rows(node).size, node: node["id"], group: node["work"]["group"])
      end

      # One row for each partition: two nodes may report it while it moves between them.
      def partitions(nodes)
        nodes.flat_map { |node|
          rows(node).map { |row| [[node["work"]["group"], row["topic"], row["partition"]], row] }
        }.to_h
      end

      # Of the partitions that are assigned to the node.
      def rows(node)
        Array(node["work"]["partitions"]).select { |row| row.is_a?(Hash) && row["held"] }
      end

      def partition(key, row)
        labels = %i[group topic partition].zip(key).to_h
        %w[lag position end].each { |name| add("kafka_#{name}", row[name], **labels) }
      end
    end
  end
end
