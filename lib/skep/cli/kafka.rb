# frozen_string_literal: true

require "json"
require "skep/cli/columns"

# `skep kafka lag GROUP`: how far behind a consumer group is, whoever its members are. It asks the
# cluster: no swarm has to run. `skep kafka broker TOPIC … -- COMMAND` is a cluster to try on.
#
# Which cluster, and with what secrets, is said by librdkafka's settings: on the command line (where
# others can read it), in files of lines such as `sasl.password=…`, or in a swarm file. The later
# of these goes before the earlier: --file, --config, --set, --brokers.
module Skep
  module CLI
    class Kafka < Command
      PURPOSE = "ask a Kafka cluster how far behind a group is, or run a command beside one"
      USAGE = "skep kafka lag GROUP [--brokers LIST | --config FILE | --file SWARM] [--json], " \
              "skep kafka broker TOPIC[:PARTITIONS] … -- COMMAND"
      EXAMPLES = ["skep kafka lag billing --brokers kafka-1:9092,kafka-2:9092",
                  "skep kafka lag billing --config client.properties --json",
                  "skep kafka lag --file swarm.rb",
                  "skep kafka lag billing --brokers k1:9093 --set security.protocol=ssl",
                  "seq 1000 | skep kafka broker orders -- skep run swarm.rb"].freeze
      TAKES = %w[lag broker].freeze
      HEAD = %w[topic partition committed end lag member client host].freeze
      SECONDS = 15.0
      private_constant :HEAD, :SECONDS

      # What follows -- is another's command line.
      def initialize(argv, **)
        words = argv.take_while { |word| word != "--" }
        @command = argv.drop(words.size + 1)
        argv = words
        super
      end

      private

      def declare(parser)
        clusters(parser)
        parser.on("--timeout SECONDS", Float, "how long to wait for the brokers (15)") do |seconds|
          options[:timeout] = seconds
        end
        parser.on("--json", "one line of JSON for each group") { options[:json] = true }
      end

      def clusters(parser)
        parser.on("--brokers LIST", "the brokers to begin with") { |list| options[:brokers] = list }
        parser.on("--config FILE", "a file of settings, name=value in each line") do |path|
          (options[:config] ||= []) << path
        end
        parser.on("--set NAME=VALUE", "one setting; others may see it") do |text|
          (options[:set] ||= []) << text
        end
        parser.on("--file SWARM", "the settings, and groups, of a swarm file") do |path|
          options[:file] = path
        end
      end

      def perform
        case verb = argument("what to ask")
        when "lag" then lag
        when "broker" then broker
        else raise Misuse, "there is no `skep kafka #{verb}`: usage: #{USAGE}"
        end
      end

      def broker
        require "skep"
        require "skep/kafka"
        topics = [argument("TOPIC"), *@arguments]
        raise Misuse, "the command is missing: usage: #{USAGE}" if @command.empty?

        ::Skep::Kafka::EmbeddedBroker.check
        Broker.new(topics, @command, input: $stdin).run
      end

      def lag
        require "skep/kafka"
        seconds = options.fetch(:timeout, SECONDS)
        raise Misuse, "--timeout must be more than 0" unless seconds.positive?

        clusters = Clusters.new(options)
        groups(clusters).each do |group|
          show(::Skep::Kafka.lag(group, clusters.of(group), seconds:))
        end
        0
      end

      def groups(clusters)
        named = @arguments.any? ? @arguments.shift(@arguments.size) : clusters.groups
        named.any? ? named : argument("GROUP")
      end

      def show(facts)
        return out.puts(JSON.generate(facts)) if options[:json]

        unknown = ", of #{facts[:unknown]} partitions unknown" if facts[:unknown].positive?
        out.puts("group #{facts[:group]}: #{facts[:state]}, members #{facts[:members].size}, " \
                 "lag #{facts[:lag]}#{unknown}")
        rows = facts[:partitions]
        return if rows.empty?

        head = rows.any? { |row| row[:error] } ? [*HEAD, "error"] : HEAD
        out.puts(Columns.new(head, rows.map { |row| row.values_at(*head.map(&:to_sym)) }))
      end
    end
  end
end

require "skep/cli/kafka/clusters"
require "skep/cli/kafka/broker"
