# frozen_string_literal: true

# `skep bench NAME`: measures skep, Ruby and other gems side by side in one run, in turns, and
# prints figures, ratios and whether the goals are met. A goal that is missed is a figure, not an
# error: the exit code is 0 once all is measured, 64 when the command line was wrong.
#
# A bench is a `Contest` in bench/NAME.rb; only the one that is asked for is loaded.
module Skep
  module CLI
    class Bench < Command
      PURPOSE = "measure skep and its peers side by side"
      USAGE = "skep bench NAME [options]"
      EXAMPLES = ["skep bench", "skep bench pid", "skep bench fork --rounds 9 --plot fork.svg",
                  "skep bench pid --json"].freeze
      BENCHES = { "pid" => :Pid, "fork" => :Fork, "cow" => :Cow,
                  "threads" => :Threads, "pool" => :Pool, "map" => :Map,
                  "recovery" => :Recovery, "supervise" => :Supervise,
                  "refork" => :Refork, "kafka" => :Kafka }.freeze
      TAKES = BENCHES.keys.freeze

      # The bench can't go on; the message is the sentence to print.
      class Failed < Skep::Error
      end

      private

      def declare(parser)
        parser.on("--json", "one line of JSON on stdout, nothing else there") do
          options[:json] = true
        end
        parser.on("--plot FILE.svg", "draw the figures too") { |file| options[:plot] = file }
        parser.on("--rounds N", Integer, "how often each contender is measured") do |rounds|
          options[:rounds] = rounds
        end
      end

      def perform
        require "skep/cli/bench/parts"
        return list if @arguments.empty?

        name = argument("NAME")
        nothing_more
        check_options
        show(measure(contest(name)))
      rescue Errno::EPIPE # `skep bench pid | head`
        raise Failed, "nobody reads what the bench prints, so it ended"
      end

      def list
        out.puts("usage: #{USAGE}", "")
        BENCHES.each_key { |name| out.puts("  #{name.ljust(8)} #{contest(name)::TITLE}") }
        out.puts("", "`skep bench --help` tells more.")
        0
      end

      def contest(name)
        constant = BENCHES[name] or
          raise Misuse, "there is no bench #{name.inspect}, but #{BENCHES.keys.join(", ")}"
        require "skep/cli/bench/#{name}"
        Bench.const_get(constant)
      end

      def check_options
        rounds = options.fetch(:rounds, 1)
        raise Misuse, "--rounds #{rounds} can't be: give 1 or more" unless rounds.positive?

        Plot.check(options[:plot]) if options[:plot]
      end

      def measure(contest)
        progress = Progress.new(err)
        contest.new(rounds: options[:rounds], progress:).run
      rescue Interrupt
        raise Failed, "interrupted before all was measured"
      ensure
        progress&.close
      end

      def show(report)
        out.puts(options[:json] ? report.to_json : Table.new(report, columns: columns).lines)
        draw(report) if options[:plot]
        0
      end

      # After the figures: a disk that is full by now must not cost them.
      def draw(report)
        Plot.new(report).write(options[:plot])
      rescue SystemCallError => e
        raise Failed, "the plot can't be written: #{e.message}"
      end

      # Of the terminal; nil for a file or a pipe, where there is no room for bars.
      def columns
        return unless out.tty? && ENV["TERM"] != "dumb"

        require "io/console"
        out.winsize.last
      end
    end
  end
end
