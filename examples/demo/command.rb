# frozen_string_literal: true

require "optparse"
require "skep"
require_relative "demo"

# `bin/demo`: nodes handle a Kafka topic's messages while one after the other is killed, and a
# ledger kept outside the swarm shows whether any message was lost. The exit code is 0 only if none
# was and every killed node was replaced.
#
# `bin/demo --against karafka`: the same faults hit skep and Karafka's swarm, beside one broker
# (benchmark/faults.rb). It prints a table. Its exit code is 0.
module Skep
  module Demo
    class Command
      DEFAULTS = { messages: 200_000, nodes: 4, kills: 10, brokers: nil }.freeze
      USAGE_ERROR = 64
      COMPARED = 40 # seconds to recover from a fault
      private_constant :DEFAULTS, :USAGE_ERROR, :COMPARED

      # The command line was wrong.
      class UsageError < Skep::Error
        def exit_code = USAGE_ERROR
      end

      # Runs the demo and returns the exit code.
      def self.start(argv, out: $stdout, err: $stderr)
        reported(err) { new(out, err).run(argv) }
      end

      # Returns the block's exit code; reports its error in a sentence.
      def self.reported(err)
        yield
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
        return compare if @options[:against]

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
          parser.on("--against karafka", %w[karafka], "compare faults with Karafka's swarm;",
                    "SKEP_KAFKA_BROKER names a program", "that starts a real broker for both") do
            @options[:against] = true
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

      def compare
        require_relative "../../benchmark/command"
        require_relative "../../benchmark/faults"
        Benchmarks::Subreaper.run { Command.reported(@err) { measure_both } }
      end

      # In a child of this process.
      def measure_both
        progress = Benchmarks::Command::Progress.new(@err)
        report = Benchmarks::Faults.new(defaults: false, patience: COMPARED, progress:).run
        @out.puts(@options[:json] ? report.to_json : report.lines)
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
