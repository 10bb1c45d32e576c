# frozen_string_literal: true

require "skep/os"
require "skep/swarm/stats"

# A consumer group as the nodes of a swarm report it: what `skep status`, `skep top`, the page and
# the metrics show of it. It needs no other file of skep's Kafka, and no librdkafka.
#
#   group, = GroupStatus.all(status)    # of `skep status --json`
#   group.name           # => "billing"
#   group.lag            # => 1980; nil if no node is there that knows it
#   group.unknown        # => 3, partitions whose lag isn't known
#   group.silent         # => [1], the ids of nodes that have reported no partitions
#   group.partitions     # => [GroupStatus::Partition, …], by topic and number
#   group.without_dependency   # => ["orders"], topics of which a dependency is unavailable
#   GroupStatus::Problems.of(status)   # => what is wrong, see there
#   GroupStatus.lag([group])   # => [1980, "of 3 partitions and of node 1"]: the lag, and what it
#                              #    leaves out; nil if it leaves nothing out
#
# The work of a node whose process has ended is its last report. A node may report anything: one
# whose report isn't that of a Kafka source is left out.
module Skep
  module Kafka
    class GroupStatus
      ENDED = %w[dead waiting].freeze
      COUNTS = %w[messages retries dead_letters skipped rebalances].freeze
      # What may have caused a failure (Failure::FailureCause), in words.
      CAUSES = {
        "message" => "bad message", "process" => "process unfit, to be replaced",
        "another_process" => "to be tried in another process",
        "dependency" => "dependency unavailable",
        "part_of_dependency" => "part of a dependency unavailable",
        "unknown" => "no verdict yet"
      }.freeze
      private_constant :ENDED

      class << self
        # Of the groups of which at least one node has reported.
        def all(status)
          nodes = status["nodes"].select { |node| report?(node["work"]) }
          nodes.group_by { |node| node["work"]["group"] }.map do |name, reporting|
            new(name, reporting, status)
          end
        end

        def ended?(node) = ENDED.include?(node["state"])

        def lag(groups)
          lags = groups.filter_map(&:lag)
          partitions, silent = groups.sum(&:unknown), groups.flat_map(&:silent)
          words = []
          words << "of #{partitions} partition#{"s" if partitions > 1}" if partitions.positive?
          words << "of node#{"s" if silent.size > 1} #{silent.join(", ")}" if silent.any?
          [(lags.sum if lags.any?), (words.join(" and ") if words.any?)]
        end

        # Returns the median and the 99th percentile of the handler's time in these reports, in
        # seconds.
        def handler_times(reports)
          plain = reports.map { |one| one["handler"] }
                         .select { |one| Swarm::Stats::Histogram.plain?(one) }
          all = Swarm::Stats::Histogram.merge(plain)
          [all.quantile(0.5), all.quantile(0.99)]
        end

        # Returns true if it is a partition's row of a Kafka source.
        def row?(row)
          row.is_a?(Hash) && row["topic"].is_a?(String) && row["partition"].is_a?(Integer) &&
            number?(row["rate"]) && COUNTS.all? { |name| number?(row[name]) } &&
            failing?(row["failing"]) &&
            %w[position end lag stalling_since paused_until lag_unknown_since]
              .all? { |name| row[name].nil? || number?(row[name]) }
        end

        private

        def report?(work)
          work["kind"] == "kafka" && work["group"].is_a?(String) &&
            %w[lag lag_unknown rate].all? { |name| number?(work[name]) } &&
            work["partitions"].is_a?(Array) && work["partitions"].all? { |row| row?(row) }
        end

        def failing?(row)
          row.nil? || (row.is_a?(Hash) && CAUSES.key?(row["cause"]) &&
            %w[messages since offset attempt].all? { |name| number?(row[name]) } &&
            %w[error at dead_letter_topic].all? { |name| text?(row[name]) } &&
            (row["retry_at"].nil? || number?(row["retry_at"])))
        end

        def text?(value) = value.nil? || value.is_a?(String)

        # Those of JSON may be infinite.
        def number?(value) = value.is_a?(Numeric) && value.abs < 1e18
      end

      # A partition. Counts and rate are the sum of what all nodes report that have had it.
      # Position, end and lag are those of the node that has it.
      class Partition
        attr_reader :topic, :number
        attr_reader :node # the id of the node that has it; nil: none
        attr_reader :position, :end, :lag # nil: not known
        attr_reader :failing # what fails at present (Failure::PresentFailures); nil: nothing
        attr_reader :stalled_since # monotonic seconds: it has messages, and delivers none

        # reports: pairs of a node and its row of the partition.
        def initialize(topic, number, reports)
          @topic, @number, @reports = topic, number, reports
          node, row = reports.reverse.find { |one, row| row["held"] && !GroupStatus.ended?(one) }
          @node = node && node["id"]
          @position, @end, @lag = row.values_at("position", "end", "lag") if row
          @failing, @stalled_since = row.values_at("failing", "stalling_since") if row
        end

        # Returns true if no node has it since a process ended that had it.
        def lost? = node.nil? && @reports.any? { |_, row| row["held"] }

        def rate = rows.sum { |row| row["rate"] }.round(1)
        def handler_times = GroupStatus.handler_times(rows)
        def counts = COUNTS.to_h { |name| [name, rows.sum { |row| row[name] }] }
        def inspect = "#<#{self.class} #{topic}/#{number} lag=#{lag.inspect}>"

        private

        def rows = @reports.map(&:last)
      end

      attr_reader :name, :nodes

      def initialize(name, nodes, status)
        @name, @nodes, @status = name, nodes, status
        @present = nodes.reject { |node| GroupStatus.ended?(node) }
      end

      def lag = (sum("lag") if @present.any?)
      def rate = sum("rate").to_f.round(1) # messages per second
      def unknown = sum("lag_unknown") + partitions.count(&:lost?)

      # Nodes that have this group's work, by the swarm's file, and haven't reported it, or have no
      # assignment.
      def silent
        works = @status["works"].to_a
        reporting = nodes.reject { |node| node["work"]["unassigned_since"] }
        others = @status["nodes"].reject { |node| reporting.any? { |one| one.equal?(node) } }
        others.filter_map do |node|
          id, task = node.values_at("id", "task")
          id if id.is_a?(Integer) && task.is_a?(Integer) && works[task].to_h["group"] == name
        end
      end

      # Since the swarm's start, also of nodes that have ended.
      def totals
        works = @status["works"].to_a.select { |work| work["group"] == name }
        totals = works.map { |work| work["totals"].to_h }
        COUNTS.to_h { |name| [name, totals.map { |one| one[name] }.grep(Integer).sum] }
      end

      # Of all nodes, with partitions that have no row any more.
      def handler_times = GroupStatus.handler_times(nodes.map { |node| node["work"] })

      def partitions
        @partitions ||= reports.group_by { |_, row| row.values_at("topic", "partition") }
                               .sort_by(&:first).map { |key, reports| Partition.new(*key, reports) }
      end

      # Topics whose handler lacks a dependency, or a part of it.
      def without_dependency
        partitions.select { |one| one.failing && one.failing["cause"].end_with?("dependency") }
                  .map(&:topic).uniq
      end

      def inspect = "#<Skep::Kafka::GroupStatus #{name} #{lag.inspect}>"

      private

      def sum(fact) = @present.sum { |node| node["work"][fact] }
      def reports = nodes.flat_map { |node| node["work"]["partitions"].map { |row| [node, row] } }
    end
  end
end

require "skep/kafka/group_status/problems"
