# frozen_string_literal: true

require "optparse"
require "skep"
require_relative "demo"

# `bin/demo`: nodes handle a Kafka topic's messages while one after the other is killed, and a
# ledger kept outside the swarm shows whether any message was lost. The exit code is 0 only if none
# was and every killed node was replaced.
module Skep
  module Demo
    class Command
      DEFAULTS = { messages: 200_000, nodes: 4, kills: 10, brokers: nil }.freeze
      USAGE_ERROR = 64
      private_constant :DEFAULTS, :USAGE_ERROR

      # The command line was wrong.
      class UsageError < Skep::Error
        def exit_code = USAGE_ERROR
      end

      # Runs the demo and returns the exit code.
      def self.start(argv, out: $stdout, err: $stderr)
        new(out, err).run(argv)
      rescue Skep::Error, OptionParser::ParseError => e
        err.puts("demo: #{e.message}")
        e.is_a?(Skep::Error) ? e.exit_code : USAGE_ERROR
      end

      def initialize(out, err)
        @out, @err = out, err
        @options = {}
        @asked = DEFAULTS.dup
      end

      def run(argv)
        rest = parser.parse(argv)
        return help if @options[:help]
        raise UsageError, "unexpected argument: #{rest.first}" if rest.any?

        plan = Plan.new(**@asked)
        raise UsageError, plan.errors.join("; ") if plan.errors.any?

        out = @out unless @options[:json]
        conclude(Runner.new(plan, out:, keep: (@err if @options[:keep])).run)
      rescue Errno::EPIPE # `bin/demo | head`
        raise Failed, "nothing reads the output"
      end

      private

      def parser
        @parser ||= OptionParser.new("usage: bin/demo [options]", 24) do |parser|
          number(parser, :messages, "messages to produce (#{DEFAULTS[:messages]})")
          number(parser, :nodes, "nodes that handle them (#{DEFAULTS[:nodes]})")
          number(parser, :kills, "times that a node is killed (#{DEFAULTS[:kills]})")
          parser.on("--brokers HOST:PORT", "your own Kafka, not the embedded broker") do |brokers|
            @asked[:brokers] = brokers
          end
          flag(parser, :json, "print one line of JSON")
          flag(parser, :keep, "keep the folder with the ledgers and the swarm's log")
          flag(parser, :help, "show this")
        end
      end

      def flag(parser, name, what) = parser.on("--#{name}", what) { @options[name] = true }

      def number(parser, name, what)
        parser.on("--#{name} N", Integer, what) { |value| @asked[name] = value }
      end

      def help
        @out.puts(parser.help)
        0
      end

      def conclude(result)
        @out.puts(@options[:json] ? result.to_json : result.sentences)
        result.faults.each { |sentence| @err.puts("demo: #{sentence}") }
        result.faults.empty? ? 0 : 1
      end
    end
  end
end

exit(Skep::Demo::Command.start(ARGV)) if $PROGRAM_NAME == __FILE__
