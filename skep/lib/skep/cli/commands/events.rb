# frozen_string_literal: true

require "json"
require "skep/cli/swarm_command"

# `skep events [NAME]`: the last events of a running swarm, which its supervisor has kept, as the
# text log shows them. With --follow also those that happen from here on.
module Skep
  module CLI
    module Commands
      class Events < SwarmCommand
        SUMMARY = "Show the last events of a running swarm"
        USAGE = "skep events [NAME] [--since AGO] [--level LEVEL] [--follow] [--json]"
        EXAMPLES = ["skep events", "skep events billing --since 10m --level warn",
                    "skep events --follow", "skep events --since 2h --json | jq .event"].freeze
        AGO = /\A(\d+(?:\.\d+)?)([smh])\z/
        UNITS = { "s" => 1, "m" => 60, "h" => 3600 }.freeze
        LEVELS = %w[debug info warn error].freeze
        private_constant :AGO, :UNITS, :LEVELS

        private

        def declare(parser)
          super
          parser.on("--since AGO", "those of the last 30s, 10m or 2h") do |text|
            options[:since] = seconds(text)
          end
          parser.on("--level LEVEL", "events of this level and above: #{LEVELS.join(", ")}; " \
                                     "default info") { |text| options[:level] = level(text) }
          parser.on("--follow", "also those to come, until ^C") { options[:follow] = true }
          parser.on("--json", "one line of JSON for each") { options[:json] = true }
        end

        def seconds(text)
          number, unit = text.match(AGO)&.captures
          raise UsageError, "--since takes a time such as 30s, 10m or 2h, not #{text}" unless unit

          number.to_f * UNITS.fetch(unit)
        end

        def level(text)
          LEVELS.index(text) or
            raise UsageError, "--level takes #{LEVELS[..-2].join(", ")} or error, not #{text}"
        end

        def perform
          @client = Control::Client.new(control_path)
          reject_extra_arguments!
          @level = options.fetch(:level, LEVELS.index("info"))
          @from = OS.now - options.fetch(:since, Float::INFINITY)
          follow = options.fetch(:follow, false)
          debug = follow && @level.zero? # those are never kept
          position = nil
          loop do
            stream = @client.history(follow:, debug:, after: position)
            show_all(stream)
            break unless stream.error

            position = stream.position # it read too slowly: the rest is in the past by now
          end
          0
        rescue Interrupt, Errno::EPIPE # ^C, or what reads the output has ended
          0
        end

        def show_all(stream)
          loop do
            live = stream.read
            past = stream.take_past.to_a
            [*relevant(past), *live].each { |event| show(event) }
            out.flush
            break if stream.ended?

            stream.to_io.wait_readable
          end
        ensure
          stream.close
        end

        # What is missing from before --since isn't told.
        def relevant(past)
          gap, first = past
          told = gap.is_a?(Control::EventGap) && first.is_a?(Hash) && !recent?(first)
          told ? past.drop(1) : past
        end

        def show(event)
          return err.puts("skep: #{event}") if event.is_a?(Control::EventGap)
          return unless recent?(event) && LEVELS.index(event["level"]).to_i >= @level

          out.puts(options[:json] ? JSON.generate(event, max_nesting: 0) : text(event))
        end

        # mono is the clock of all processes of the host.
        def recent?(event) = event["mono"].nil? || event["mono"] >= @from

        def text(event)
          lines = Log::TextFormatter.of_json(event).split("\n")
          lines.map { |line| UI.clean(line) }
        end
      end
    end
  end
end
