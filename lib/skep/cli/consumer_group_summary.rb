# frozen_string_literal: true

require "skep/swarm/stats"

module Skep
  module CLI
    # A consumer group as the nodes of a swarm report it: two lines for the group, a row for each
    # partition.
    #
    #   groups = ConsumerGroupSummary.all(status)    # of `skep status --json`
    #   groups.first.to_s                            # => "group billing: lag 1234, …"
    #   groups.first.rows                            # under ConsumerGroupSummary::HEAD
    class ConsumerGroupSummary
      HEAD = ["topic", "partition", "node", "position", "lag", "rate", "p50", "p99", "messages",
              "retries", "dead letters", "skipped", "rebalances"].freeze
      COUNTS = %w[messages retries dead_letters skipped rebalances].freeze
      KAFKA = Control::Answer::KAFKA # a plain block's work may report anything
      private_constant :COUNTS, :KAFKA

      def self.all(status)
        consumers = status["nodes"].select { |node| Control::Answer.fits?(node["work"], KAFKA) }
        consumers.group_by { |node| node["work"]["group"] }.map do |name, nodes|
          works = status["works"].to_a.select { |work| work["group"] == name }
          new(name, nodes, works.map { |work| work["totals"].to_h })
        end
      end

      def initialize(name, nodes, totals)
        @name = name
        @nodes = nodes
        @totals = totals
      end

      def to_s
        p50, p99 = times(partitions)
        totals = COUNTS.map { |name| "#{name.tr("_", " ")} #{total(name)}" }.join(", ")
        "group #{@name}: lag #{sum("lag")}, #{sum("rate").round(1)} messages/s, " \
          "a batch takes #{p50 || "-"} (p50) to #{p99 || "-"} (p99)\n" \
          "group #{@name} since the swarm started: #{totals}"
      end

      # By topic and number.
      def rows
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
      def total(name) = @totals.map { |some| some[name] }.grep(Control::Answer::NUMBER).sum.to_i

      # Returns the id of the node that has the partition now, and that node's report of it.
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
