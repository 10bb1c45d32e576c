# frozen_string_literal: true

require "skep/cli/swarm_command"
require "skep/cli/chaos"

# `skep chaos NAME`: injects faults into a running swarm, at the rates asked for, and reports which
# the swarm recovered from and how fast. Its exit code is 0 only if it recovered from all of them.
module Skep
  module CLI
    module Commands
      class Chaos < SwarmCommand
        SUMMARY = "Inject faults into a running swarm and check that it recovers"
        USAGE = "skep chaos [NAME] [options]"
        EXAMPLES = ["skep chaos billing", "skep chaos billing --seconds 600",
                    "skep chaos --kill-rate 60 --stop-rate 0 --mold-rate 0 --seed 7 --json"].freeze
        RATES = { kill: "nodes killed (KILL, SEGV, TERM)", stop: "nodes stopped (SIGSTOP)",
                  mold: "molds killed", helper: "helpers killed",
                  scale: "changes of the number of nodes, by one",
                  storm: "storms of 1,000 harmless signals to the supervisor",
                  hang: "nodes hung from inside (swarms with chaos: true)",
                  leak: "leaks, 32 MiB each (swarms with chaos: true)" }.freeze
        DEFAULT_RATES = { kill: 12.0, stop: 1.0, mold: 1.0, storm: 1.0 }.freeze
        SECONDS = 60.0
        RECOVERY_TIMEOUT = 90.0
        private_constant :DEFAULT_RATES, :SECONDS, :RECOVERY_TIMEOUT

        private

        def declare(parser)
          super
          seconds(parser, "--seconds", "how long (#{SECONDS.round})")
          RATES.each { |kind, what| rate(parser, kind, what) }
          seconds(parser, "--recovery-timeout",
                  "how long to wait for the last recoveries (#{RECOVERY_TIMEOUT.round})")
          parser.on("--seed N", Integer, "the same faults again") { |seed| options[:seed] = seed }
          parser.on("--json", "one line of JSON on stdout, nothing else there") {
            options[:json] = 1
          }
        end

        def seconds(parser, flag, what)
          key = flag.delete_prefix("--").tr("-", "_").to_sym
          parser.on("#{flag} SECONDS", Float, what) { |value| options[key] = value }
        end

        def rate(parser, kind, what)
          text = "#{what}, a minute (#{DEFAULT_RATES.fetch(kind, 0).round})"
          parser.on("--#{kind}-rate N", Float, text) { |value| rates[kind] = value }
        end

        def rates = options[:rates] ||= {}

        def perform
          path = control_path
          reject_extra_arguments!
          plan = schedule
          target = CLI::Chaos::TargetSwarm.new(Control::Client.new(path), plan.random)
          show(CLI::Chaos::Runner.new(plan, target, out: err).run)
        rescue Errno::EPIPE # `skep chaos | head`
          raise CLI::Chaos::Failed, "the output was closed, so chaos ended"
        end

        def schedule
          schedule = CLI::Chaos::Schedule.new(
            rates: DEFAULT_RATES.merge(rates), seconds: options.fetch(:seconds, SECONDS),
            recovery_timeout: options.fetch(:recovery_timeout, RECOVERY_TIMEOUT),
            seed: options[:seed] || (Random.new_seed % 1_000_000)
          )
          raise UsageError, schedule.errors.join("; ") if schedule.errors.any?

          schedule
        end

        def show(report)
          out.puts(options[:json] ? report.to_json : report.lines)
          report.problems.each { |sentence| err.puts("skep: #{sentence}") }
          report.problems.empty? ? 0 : 1
        end
      end
    end
  end
end
