# frozen_string_literal: true

require "skep/swarm/stats"

module Skep
  module Watch
    class Web
      # The partitions that a swarm's nodes read, each as those that have had it tell of it: what it
      # has come to in all, and where it is now. A node may tell what it likes: what isn't as it
      # should be is left out.
      #
      #   Partitions.of(nodes)     # => {"billing/orders/0" => {"topic" => "orders", …}}
      module Partitions
        COUNTS = %w[messages retries dead_letters skipped rebalances].freeze
        MOST = 10**15
        private_constant :COUNTS, :MOST

        module_function

        def of(nodes) #: (Array[Hash[String, untyped]]) -> Hash[String, Hash]
          told = nodes.flat_map { |node| told_by(node) }
          told.group_by { |group, _, one| [group, one["topic"].to_s, number(one["partition"])] }
              .sort_by { |key, _| key.map(&:to_s) }
              .to_h { |key, seen| [key.join("/"), view(key, seen)] }
        end

        def told_by(node)
          work = node["work"]
          return [] unless work["kind"] == "kafka" && work["partitions"].is_a?(Array)

          partitions = work["partitions"].select { |one| one.is_a?(Hash) }
          partitions.map { |one| [work["group"].to_s, node["id"], one] }
        end

        def view(key, seen)
          _, node, held = seen.find { |_, _, one| one["held"] == true }
          all = seen.map(&:last)
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

        # As a count, or a rate, can be.
        def number(value) = value.is_a?(Numeric) && value.abs < MOST ? value : nil
      end
      private_constant :Partitions
    end
  end
end
