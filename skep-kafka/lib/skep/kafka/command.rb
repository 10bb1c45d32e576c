# frozen_string_literal: true

require "skep/cli"
require "skep/kafka/command/cluster_settings"
require "skep/kafka/command/embedded_broker_run"
require "skep/kafka/command/cluster_command"
require "skep/kafka/command/lag"
require "skep/kafka/command/dead"
require "skep/kafka/command/broker"

# `skep kafka SUBCOMMAND`: hands over to a subcommand, which has its own options.
module Skep
  module Kafka
    class Command
      SUMMARY = "Show consumer lag and dead letters, or run an embedded broker"
      ARGUMENT = %w[lag dead broker].freeze
      UI = CLI::UI
      UsageError = CLI::UsageError
      private_constant :UI, :UsageError

      SUBCOMMANDS = { "lag" => Lag, "dead" => Dead, "broker" => Broker }.freeze
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

        names = SUBCOMMANDS.keys.join(" or ")
        wrong = @name ? "unknown command: kafka #{@name}" : "missing argument: #{names}"
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
