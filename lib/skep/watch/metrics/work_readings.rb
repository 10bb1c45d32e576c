# frozen_string_literal: true

# The figures of what the nodes do: counts of each kind of work over the swarm's life, and where
# each of Kafka's partitions stands.
#
#   WorkReadings.new(exposition).put(status)    # status: as in `skep status --json`
module Skep
  module Watch
    module Metrics
      class WorkReadings
        KAFKA = %w[messages batches retries dead_letters skipped filtered rebalances].freeze
        private_constant :KAFKA

        def initialize(exposition) #: (Exposition) -> void
          @exposition = exposition
        end

        def put(status) #: (Hash[String, untyped]) -> void
          status["works"].each { |work| work(work) }
          nodes = status["nodes"].select { |node| node.dig("work", "kind") == "kafka" }
          nodes.each { |node| holding(node) }
          held(nodes).each { |key, row| partition(key, row) }
        end

        private

        def say(name, value, **labels) = @exposition.put("skep_#{name}", value, **labels)

        def work(facts)
          which = { work: facts["work"], group: facts["group"] }
          say("handler_seconds", facts["handler"], **which)
          return KAFKA.each { |name| count(facts, name, which) } if facts["kind"] == "kafka"

          work = facts["work"]
          facts["totals"].each { |name, count| say("work_total", count, work:, name:) }
        end

        def count(facts, name, which)
          say("kafka_#{name}_total", facts["totals"].fetch(name, 0), **which)
        end

        def holding(node)
          say("kafka_partitions", rows(node).size, node: node["id"], group: node["work"]["group"])
        end

        # Two nodes may say that they have one while it goes from one to the other.
        def held(nodes)
          nodes.flat_map { |node|
            rows(node).map { |row| [[node["work"]["group"], row["topic"], row["partition"]], row] }
          }.to_h
        end

        # Of those that the node has.
        def rows(node)
          Array(node["work"]["partitions"]).select { |row| row.is_a?(Hash) && row["held"] }
        end

        def partition(key, row)
          which = %i[group topic partition].zip(key).to_h
          say("kafka_lag", row["lag"], **which)
          say("kafka_position", row["position"], **which)
          say("kafka_end", row["end"], **which)
        end
      end
    end
  end
end
