# frozen_string_literal: true

# `skep demo`: nodes handle a Kafka topic's messages while one after the other is killed, and an
# account kept outside the swarm tells whether any message was lost. Its exit code is 0 only if none
# was and every kill was answered.
#
# A `Trial` runs what a `Plan` says, a view shows it, its `Verdict` is printed at the end.
module Skep
  module CLI
    class Demo < Command
      PURPOSE = "see skep at work: nodes are killed, no message is lost"
      USAGE = "skep demo [options]"
      EXAMPLES = ["skep demo", "skep demo --messages 50000 --kills 20 --json",
                  "skep demo --brokers 127.0.0.1:9092 --nodes 3"].freeze
      DEFAULTS = { messages: 200_000, nodes: 4, kills: 10, seed: nil, brokers: nil }.freeze
      private_constant :DEFAULTS

      # The demo can't go on; the message is the sentence to print.
      class Failed < Skep::Error
      end

      private

      def declare(parser)
        number(parser, "--messages N", "messages to produce (#{DEFAULTS[:messages]})")
        number(parser, "--nodes N", "nodes that handle them (#{DEFAULTS[:nodes]})")
        number(parser, "--kills N", "times that a node is killed (#{DEFAULTS[:kills]})")
        number(parser, "--seed N", "choose the same victims again")
        parser.on("--brokers HOST:PORT", "a Kafka of yours, not the embedded broker") do |at|
          asked[:brokers] = at
        end
        flag(parser, "--json", "one line of JSON on stdout, nothing else there")
        flag(parser, "--keep", "keep the folder with the accounts and the swarm's log")
      end

      def flag(parser, name, what)
        parser.on(name, what) { options[name.delete_prefix("--").to_sym] = true }
      end

      def number(parser, flag, what)
        key = flag[/\w+/].to_sym
        parser.on(flag, Integer, what) { |value| asked[key] = value }
      end

      def asked = options[:asked] ||= {}

      def perform
        nothing_more
        require "skep/cli/demo/parts"
        plan = Plan.new(**DEFAULTS, **asked)
        raise Misuse, plan.errors.join("; ") if plan.errors.any?

        conclude(Trial.new(plan, view:, keep: (err if options[:keep])).run)
      rescue Errno::EPIPE # `skep demo | head`
        raise Failed, "nobody reads what the demo prints, so it ended"
      end

      def view
        return Silence.new if options[:json]

        out.tty? && ENV["TERM"] != "dumb" ? Table.new(out) : Lines.new(out)
      end

      def conclude(verdict)
        out.puts(options[:json] ? verdict.to_json : verdict.sentences)
        verdict.faults.each { |sentence| err.puts("skep: #{sentence}") }
        verdict.faults.empty? ? 0 : 1
      end
    end
  end
end
