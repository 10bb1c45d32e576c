# frozen_string_literal: true

# A consumer group as `skep status` prints it.
#
#   puts GroupStatus::Lines.new(group, partitions: true).to_a    # with a row for each partition
module Skep
  module Kafka
    class GroupStatus
      class Lines
        HEAD = ["topic", "partition", "node", "position", "lag", "rate", "p50", "p99", "messages",
                "retries", "dead letters", "skipped", "rebalances", "failing"].freeze
        ROWS = "rows: since their node's start"
        UI = CLI::UI
        private_constant :HEAD, :ROWS, :UI

        def initialize(group, partitions:)
          @group = group
          @partitions = partitions
          @name = "group #{UI.clean(group.name)}"
        end

        def to_a = [work, totals, *([ROWS, table] if @partitions)]

        private

        def work
          lag, unknown = GroupStatus.lag([@group])
          p50, p99 = @group.handler_times.map { |seconds| UI::Humanize.seconds(seconds) }
          "#{@name}: lag #{lag || "-"}#{", #{unknown} unknown" if unknown}, " \
            "#{@group.rate} messages/s, a batch takes #{p50} (p50) to #{p99} (p99)"
        end

        def totals
          totals = @group.totals.map { |count, total| "#{count.tr("_", " ")} #{total}" }
          "#{@name} since the swarm started: #{totals.join(", ")}"
        end

        def table = UI::TextTable.new(HEAD, @group.partitions.map { |one| row(one) }).to_s

        def row(one)
          [one.topic, one.number, one.node, one.position, one.lag, one.rate,
           *one.handler_times.map { |seconds| UI::Humanize.seconds(seconds) }, *one.counts.values,
           one.failing && one.failing["cause"].tr("_", " ")]
        end
      end
    end
  end
end
