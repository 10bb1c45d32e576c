# frozen_string_literal: true

require "skep/swarm/stats"

module Skep
  module CLI
    class Status < Command
      # A consumer group as the nodes of a swarm see it, made of what each tells of itself: a line
      # for all of it, a row for each partition.
      #
      #   Group.all(status)     # => [Group]; status: `skep status --json`
      #   group.to_s            # => "group billing: lag 1234, …"
      #   group.rows            # under Group::HEAD
      class Group
        HEAD = ["topic", "partition", "node", "position", "lag", "rate", "p50", "p99", "messages",
                "retries", "dead letters", "skipped", "rebalances"].freeze
        COUNTS = %w[messages retries dead_letters skipped rebalances].freeze
        KAFKA = Watch::Answer::KAFKA # a plain block's work may report anything
        private_constant :COUNTS, :KAFKA

        def self.all(status) #: (Hash[String, untyped]) -> Array[Group]
          told = status["nodes"].select { |node| Watch::Answer.fits?(node["work"], KAFKA) }
          told.group_by { |node| node["work"]["group"] }.map do |name, nodes|
            works = status["works"].to_a.select { |work| work["group"] == name }
            new(name, nodes, works.map { |work| work["totals"].to_h })
          end
        end

        def initialize(name, nodes, totals)
          @name = name
          @nodes = nodes
          @totals = totals
        end

        def to_s #: () -> String
          p50, p99 = times(partitions)
          totals = COUNTS.map { |name| "#{name.tr("_", " ")} #{total(name)}" }.join(", ")
          "group #{@name}: lag #{sum("lag")}, #{sum("rate").round(1)} messages/s, " \
            "a batch takes #{p50 || "-"} (p50) to #{p99 || "-"} (p99)\n" \
            "group #{@name} since the swarm began: #{totals}"
        end

        # By topic and number.
        def rows #: () -> Array[Array[untyped]]
          partitions.group_by { |one| one.values_at("topic", "partition") }.sort.map do |key, seen|
            node, held = holder(key)
            [*key, node, *held&.values_at("position", "lag") || [nil, nil],
             seen.sum { |one| one["rate"] }.round(1), *times(seen),
             *COUNTS.map { |name| seen.sum { |one| one[name] } }]
          end
        end

        private

        def partitions = @partitions ||= @nodes.flat_map { |node| node["work"]["partitions"] }
        def sum(name) = @nodes.sum { |node| node["work"][name] }
        def total(name) = @totals.map { |some| some[name] }.grep(Watch::Answer::NUMBER).sum.to_i

        # Whose it is now, and what that one says of it.
        def holder(key)
          @holders ||= @nodes.flat_map do |node|
            held = node["work"]["partitions"].select { |one| one["held"] }
            held.map { |one| [one.values_at("topic", "partition"), [node["id"], one]] }
          end.to_h
          @holders[key]
        end

        def times(partitions)
          handlers = partitions.map { |one| one["handler"] }
          plain = handlers.select { |one| Swarm::Stats::Histogram.plain?(one) }
          all = Swarm::Stats::Histogram.merge(plain)
          [0.5, 0.99].map { |part| all.quantile(part)&.then { |seconds| time(seconds) } }
        end

        def time(seconds)
          return "#{format("%.3g", seconds)}s" if seconds >= 1

          seconds >= 0.001 ? "#{format("%.3g", seconds * 1e3)}ms" : "#{(seconds * 1e6).round}us"
        end
      end
    end
  end
end
