# frozen_string_literal: true

require "json"
require "skep/cli/kafka"

# `skep kafka lag GROUP`: the lag of a consumer group. It asks the cluster: no swarm has to run.
# `skep kafka broker TOPIC … -- COMMAND`: runs a command against an embedded broker.
module Skep
  module CLI
    module Commands
      # Hands over to a subcommand, which has options of its own.
      class Kafka
        SUMMARY = "Show consumer lag, or run a command against an embedded broker"
        ARGUMENT = %w[lag broker].freeze

        # Which cluster, and with what secrets, librdkafka's settings say: on the command line
        # (where other users can read it), in files of lines such as `sasl.password=…`, or in a
        # swarm file. Later ones win: --file, --config, --set, --brokers.
        class Lag < Command
          SUMMARY = "Show how far a consumer group is behind"
          USAGE = "skep kafka lag GROUP [--brokers LIST | --config FILE | --file SWARM] [--json]"
          EXAMPLES = ["skep kafka lag billing --brokers kafka-1:9092,kafka-2:9092",
                      "skep kafka lag billing --config client.properties --json",
                      "skep kafka lag --file swarm.rb",
                      "skep kafka lag billing --brokers k1:9093 --set security.protocol=ssl"].freeze
          HEAD = %w[topic partition committed end lag member client host].freeze
          SECONDS = 15.0
          private_constant :HEAD, :SECONDS

          private

          def declare(parser)
            declare_cluster(parser)
            parser.on("--timeout SECONDS", Float,
                      "how long to wait for the brokers (15)") do |seconds|
              options[:timeout] = seconds
            end
            parser.on("--json", "one line of JSON for each group") { options[:json] = true }
          end

          def declare_cluster(parser)
            parser.on("--brokers LIST", "the brokers to connect to first, HOST:PORT,…") do |list|
              options[:brokers] = list
            end
            parser.on("--config FILE", "a file of settings, name=value in each line") do |path|
              (options[:config] ||= []) << path
            end
            parser.on("--set NAME=VALUE", "one setting; other users may see it") do |text|
              (options[:set] ||= []) << text
            end
            parser.on("--file SWARM", "the settings and groups of a swarm file") do |path|
              options[:file] = path
            end
          end

          def perform
            require "skep/kafka"
            seconds = options.fetch(:timeout, SECONDS)
            unless seconds.positive?
              raise UsageError, "--timeout must be more than 0 (got #{format("%g", seconds)})"
            end

            cluster = CLI::Kafka::ClusterSettings.new(options)
            groups(cluster).each do |group|
              show(::Skep::Kafka.lag(group, cluster.of(group), seconds:))
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

        # What follows -- is the command to run.
        class Broker < Command
          SUMMARY = "Run a command against an embedded broker with these topics"
          USAGE = "skep kafka broker TOPIC[:PARTITIONS] … -- COMMAND"
          EXAMPLES = ["seq 1000 | skep kafka broker orders -- skep run swarm.rb",
                      "skep kafka broker orders:8 orders.dead -- rake test"].freeze

          def initialize(argv, out:, err:)
            own = argv.take_while { |word| word != "--" }
            @command = argv.drop(own.size + 1)
            super(own, out:, err:)
          end

          private

          def perform
            require "skep"
            require "skep/kafka"
            topics = [argument("TOPIC"), *arguments]
            raise UsageError, "missing argument: COMMAND: #{usage}" if @command.empty?

            ::Skep::Kafka::EmbeddedBroker.check
            CLI::Kafka::EmbeddedBrokerRun.new(topics, @command, input: $stdin).run
          end
        end

        SUBCOMMANDS = { "lag" => Lag, "broker" => Broker }.freeze
        USAGE = SUBCOMMANDS.values.map { |command| command::USAGE }.join(", ").freeze
        EXAMPLES = SUBCOMMANDS.values.flat_map { |command| command::EXAMPLES }.freeze

        def initialize(argv, out:, err:)
          @name, *rest = argv
          @out, @err = out, err
          @subcommand = SUBCOMMANDS[@name]&.new(rest, out:, err:)
        end

        # Returns the exit code.
        def run
          return @subcommand.run if @subcommand
          return show_help if %w[-h --help].include?(@name)

          wrong = @name ? "unknown command: kafka #{@name}" : "missing argument: lag or broker"
          raise UsageError, "#{wrong}: usage: #{USAGE}"
        end

        # The options of all subcommands, as OptionParser::Switch.
        def switches
          SUBCOMMANDS.values.flat_map { |command| command.new([], out: nil, err: nil).switches }
                     .uniq(&:long)
        end

        private

        def show_help
          SUBCOMMANDS.each_value.with_index do |command, index|
            @out.puts("") if index.positive?
            command.new(["--help"], out: @out, err: @err).run
          end
          0
        end
      end
    end
  end
end
