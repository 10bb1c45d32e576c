# frozen_string_literal: true

require "skep/swarm/stats"

module Skep
  class Web
    module Live
      # The Kafka partitions of a swarm's nodes. Counts are the sum of what all nodes report that
      # have had the partition; position and lag are those of the node that has it now. A node may
      # report anything: values of another type are left out.
      #
      #   Partitions.of(nodes)     # => {"billing/orders/0" => {"topic" => "orders", …}}
      module Partitions
        COUNTS = %w[messages retries dead_letters skipped rebalances].freeze
        LIMIT = 10**15
        private_constant :COUNTS, :LIMIT

        module_function

        def of(nodes)
          reports = nodes.flat_map { |node| reports_of(node) }
          reports.group_by { |group, _, one| [group, one["topic"].to_s, number(one["partition"])] }
                 .sort_by { |key, _| key.map(&:to_s) }
                 .to_h { |key, same| [key.join("/"), merge(key, same)] }
        end

        def reports_of(node)
          work = node["work"]
          return [] unless work["kind"] == "kafka" && work["partitions"].is_a?(Array)

          partitions = work["partitions"].select { |one| one.is_a?(Hash) }
          id = node["id"] unless Control::GroupLag.ended?(node) # an ended process has none
          partitions.map { |one| [work["group"].to_s, id, one] }
        end

        def merge(key, reports)
          _, node, held = reports.find { |_, node, one| node && one["held"] == true }
          all = reports.map(&:last)
          { "group" => key[0], "topic" => key[1], "partition" => key[2], "node" => node&.to_s,
            "position" => number(held&.dig("position")), "lag" => number(held&.dig("lag")),
            "rate" => all.sum { |one| number(one["rate"]) || 0 }.round(1), **times(all),
            **COUNTS.to_h { |name| [name, all.sum { |one| number(one[name]) || 0 }] } }
        end

        def times(all)
          handlers = all.map { |one| one["handler"] }
          plain = handlers.select { |one| Swarm::Stats::Histogram.plain?(one) }
          histogram = Swarm::Stats::Histogram.merge(plain)
          { "p50" => histogram.quantile(0.5), "p99" => histogram.quantile(0.99) }
        end

        # Returns the value if it can be a count or a rate.
        def number(value) = value.is_a?(Numeric) && value.abs < LIMIT ? value : nil
      end
    end
  end
end
