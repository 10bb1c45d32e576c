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
      private_constant :COUNTS

      def self.all(status)
        Control::GroupLag.all(status).map do |lag|
          works = status["works"].to_a.select { |work| work["group"] == lag.name }
          new(lag, works.map { |work| work["totals"].to_h })
        end
      end

      # lag: Control::GroupLag.
      def initialize(lag, totals)
        @lag = lag
        @name, @nodes = lag.name, lag.nodes
        @totals = totals
      end

      def to_s
        p50, p99 = group_times
        totals = COUNTS.map { |name| "#{name.tr("_", " ")} #{total(name)}" }.join(", ")
        unknown = Control::GroupLag.unknown([@lag])
        "group #{@name}: lag #{@lag.lag || "-"}#{", #{unknown} unknown" if unknown}, " \
          "#{rate} messages/s, " \
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

      # Of processes that are there.
      def rate
        present = @nodes.reject { |node| Control::GroupLag.ended?(node) }
        present.sum { |node| node["work"]["rate"] }.to_f.round(1)
      end

      def total(name) = @totals.map { |some| some[name] }.grep(Control::Answer::NUMBER).sum.to_i

      # Returns the id of the node that has the partition now, and that node's report of it.
      def holder(key)
        @holders ||= @nodes.reject { |node| Control::GroupLag.ended?(node) }.flat_map do |node|
          held = node["work"]["partitions"].select { |one| one["held"] }
          held.map { |one| [one.values_at("topic", "partition"), [node["id"], one]] }
        end.to_h
        @holders[key]
      end

      # A node's own handler times include those of partitions without a row.
      def group_times
        own = @nodes.map { |node| node["work"] }
        known = own.all? { |work| Swarm::Stats::Histogram.plain?(work["handler"]) }
        times(known ? own : partitions)
      end

      def times(reports)
        handlers = reports.map { |one| one["handler"] }
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
