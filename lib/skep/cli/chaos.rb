# frozen_string_literal: true

require "json"
require "skep/cli/asking"

# `skep chaos NAME`: does a running swarm harm, at the rates asked for, and tells what was answered
# and how fast. Its exit code is 0 only if all of it was.
#
# A `Trial` does what a `Plan` says to a `Target` and follows its events; a `Report` is printed at
# the end. Nothing is signalled that isn't the swarm's: see Target.
module Skep
  module CLI
    class Chaos < Command
      include Asking

      PURPOSE = "harm a running swarm, and see whether it answers"
      USAGE = "skep chaos [NAME] [options]"
      EXAMPLES = ["skep chaos billing", "skep chaos billing --seconds 600 --plot soak.svg",
                  "skep chaos --kill-rate 60 --stop-rate 0 --mold-rate 0 --seed 7 --json"].freeze
      RATES = { kill: "nodes killed (KILL, SEGV, TERM)", stop: "nodes stopped (SIGSTOP)",
                mold: "molds killed", helper: "helpers killed", scale: "changes of scale, by one",
                storm: "storms of 1,000 harmless signals to the supervisor",
                hang: "nodes hung from inside (swarms with chaos: true)",
                leak: "leaks, 32 MiB each (swarms with chaos: true)" }.freeze
      DEFAULTS = { kill: 12.0, stop: 1.0, mold: 1.0, storm: 1.0 }.freeze
      SECONDS = 60.0
      PATIENCE = 90.0
      private_constant :DEFAULTS, :SECONDS, :PATIENCE

      # Chaos can't begin, or can't go on; the message is the sentence to print.
      class Failed < Skep::Error
      end

      private

      def declare(parser)
        super
        number(parser, :seconds, "how long (#{SECONDS.round})")
        RATES.each { |kind, what| rate(parser, kind, what) }
        number(parser, :patience, "how long to wait for the last answers (#{PATIENCE.round})")
        parser.on("--seed N", Integer, "the same harm again") { |seed| options[:seed] = seed }
        parser.on("--json", "one line of JSON on stdout, nothing else there") { options[:json] = 1 }
        parser.on("--plot FILE.svg", "draw what the supervisor has") { |to| options[:plot] = to }
      end

      def number(parser, name, what)
        parser.on("--#{name} SECONDS", Float, what) { |value| options[name] = value }
      end

      def rate(parser, kind, what)
        text = "#{what}, a minute (#{DEFAULTS.fetch(kind, 0).round})"
        parser.on("--#{kind}-rate N", Float, text) { |value| rates[kind] = value }
      end

      def rates = options[:rates] ||= {}

      def perform
        require "skep/cli/chaos/parts"
        path = control_path
        nothing_more
        Picture.check(options[:plot]) if options[:plot]
        show(Trial.new(plan, Target.new(Watch::Query.new(path)), out: err).run)
      rescue Errno::EPIPE # `skep chaos | head`
        raise Failed, "nobody reads what chaos prints, so it ended"
      end

      def plan
        plan = Plan.new(rates: DEFAULTS.merge(rates), seconds: options.fetch(:seconds, SECONDS),
                        patience: options.fetch(:patience, PATIENCE),
                        seed: options[:seed] || Random.new_seed % 1_000_000)
        raise Misuse, plan.errors.join("; ") if plan.errors.any?

        plan
      end

      def show(report)
        out.puts(options[:json] ? report.to_json : report.lines)
        report.faults.each { |sentence| err.puts("skep: #{sentence}") }
        Picture.new(report).write(options[:plot]) if options[:plot]
        report.faults.empty? ? 0 : 1
      end
    end
  end
end
