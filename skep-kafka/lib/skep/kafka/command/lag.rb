# frozen_string_literal: true

require "json"

# `skep kafka lag GROUP`: how far a consumer group is behind. It asks the cluster: no swarm has to
# run.
module Skep
  module Kafka
    class Command
      class Lag < ClusterCommand
        SUMMARY = "Show how far a consumer group is behind"
        USAGE = "skep kafka lag GROUP [--brokers LIST | --config FILE | --file SWARM] [--json]"
        EXAMPLES = ["skep kafka lag billing --brokers kafka-1:9092,kafka-2:9092",
                    "skep kafka lag billing --config client.properties --json",
                    "skep kafka lag --file swarm.rb",
                    "skep kafka lag billing --brokers k1:9093 --set security.protocol=ssl"].freeze
        HEAD = %w[topic partition committed end lag member client host].freeze
        private_constant :HEAD

        private

        def declare(parser) = declare_cluster(parser, json: "one line of JSON for each group")

        def perform
          require "skep/kafka"
          settings, seconds = cluster, self.seconds
          groups(settings).each do |group|
            show(Kafka.lag(group, settings.of(group), seconds:))
          end
          0
        end

        def groups(cluster)
          named = arguments.any? ? arguments : cluster.groups
          named.any? ? named : [argument("GROUP")]
        end

        def show(facts)
          return out.puts(JSON.generate(facts)) if options[:json]

          unknown = ", of #{facts[:unknown]} partitions unknown" if facts[:unknown].positive?
          out.puts("group #{facts[:group]}: #{facts[:state]}, members #{facts[:members].size}, " \
                   "lag #{facts[:lag]}#{unknown}")
          rows = facts[:partitions]
          return if rows.empty?

          head = rows.any? { |row| row[:error] } ? [*HEAD, "error"] : HEAD
          out.puts(UI::TextTable.new(head, rows.map { |row| row.values_at(*head.map(&:to_sym)) }))
        end
      end
    end
  end
end
