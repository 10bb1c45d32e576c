# frozen_string_literal: true

# The lag of a consumer group, as the nodes of a swarm report it, and for which partitions it isn't
# known: a node may not have found it yet, may have ended, or may not have reported anything.
#
#   group, = GroupLag.all(status)    # of `skep status --json`
#   group.name           # => "billing"
#   group.lag            # => 1980; nil if it is known of no partition
#   group.unknown        # => 3, partitions whose lag isn't known
#   group.silent         # => [1], the ids of nodes that have reported no partitions
#   group.complete?      # => false: the lag leaves some out
#   GroupLag.unknown([group])   # => "of 3 partitions and of node 1"; nil if it leaves nothing out
#   group.nodes          # the nodes that have reported, those that have ended too
#   GroupLag.ended?(node)   # true: what the node has reported is of a process that has ended
module Skep
  module Control
    class GroupLag
      ENDED = %w[dead waiting].freeze
      KAFKA = Answer::KAFKA # a plain block's work may report anything
      private_constant :ENDED, :KAFKA

      class << self
        # Of the groups of which at least one node has reported.
        def all(status)
          nodes = status["nodes"].select { |node| Answer.fits?(node["work"], KAFKA) }
          nodes.group_by { |node| node["work"]["group"] }.map do |name, reporting|
            new(name, reporting, silent_in(status, name, reporting))
          end
        end

        def ended?(node) = ENDED.include?(node["state"])

        # Returns of what the lag of these groups isn't known.
        def unknown(groups)
          partitions, silent = groups.sum(&:unknown), groups.flat_map(&:silent)
          words = []
          words << "of #{partitions} partition#{"s" if partitions > 1}" if partitions.positive?
          words << "of node#{"s" if silent.size > 1} #{silent.join(", ")}" if silent.any?
          words.join(" and ") if words.any?
        end

        private

        # Nodes that have this group's work, by the swarm's file, and haven't reported it.
        def silent_in(status, name, reporting)
          works = status["works"].to_a
          status["nodes"].select do |node|
            task = node["task"]
            node["id"].is_a?(Integer) && task.is_a?(Integer) && !reporting.include?(node) &&
              works[task].to_h["group"] == name
          end
        end
      end

      attr_reader :name
      attr_reader :nodes

      def initialize(name, nodes, silent)
        @name, @nodes, @silent = name, nodes, silent
        @ended, @present = nodes.partition { |node| GroupLag.ended?(node) }
      end

      def lag = @present.any? ? @present.sum { |node| node["work"]["lag"] } : nil

      def unknown
        @unknown ||= @present.sum { |node| unknown_in(node["work"]) } + (lost - held(@present)).size
      end

      def silent = @silent.map { |node| node["id"] }
      def complete? = unknown.zero? && @silent.empty?
      def inspect = "#<Skep::Control::GroupLag #{name} #{lag.inspect}>"

      private

      def unknown_in(work)
        counted = work["lag_unknown"]
        return counted if counted.is_a?(Integer) && counted.between?(0, 10**9)

        work["partitions"].count { |row| row["held"] && row["lag"].nil? }
      end

      # The partitions of processes that have ended. They keep them until another one gets them.
      def lost = held(@ended)

      def held(nodes)
        nodes.flat_map do |node|
          rows = node["work"]["partitions"].select { |row| row["held"] }
          rows.map { |row| row.values_at("topic", "partition") }
        end.uniq
      end
    end
  end
end
