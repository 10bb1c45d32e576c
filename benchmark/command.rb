# frozen_string_literal: true

require "optparse"
require "skep"
require_relative "harness"

# `bin/bench NAME`: measures skep, Ruby and other gems in one run, in turns, and prints figures,
# ratios and whether the goals are met. A missed goal is no error: the exit code is 0 after all
# measurements, and 64 for a wrong command line.
#
# `bin/bench NAME --save` writes the raw results to a file. It refuses to begin on a busy machine.
# `bin/bench --table` writes the tables of README and docs from the results (Results).
#
# A benchmark is a class in benchmark/NAME.rb. Only the named one is loaded.
module Skep
  module Benchmarks
    class Command
      USAGE = "bin/bench NAME [options]"
      NAMES = { "pid" => :Pid, "fork" => :Fork, "cow" => :Cow,
                "threads" => :Threads, "pool" => :Pool, "map" => :Map,
                "recovery" => :Recovery, "supervise" => :Supervise,
                "refork" => :Refork, "kafka" => :Kafka, "faults" => :Faults,
                "deploy" => :Deploy, "profile" => :Profile }.freeze
      USAGE_ERROR = 64
      QUIET = 15 # percent of the processors that others may use, for results that are saved

      # The command line was wrong.
      class UsageError < Skep::Error
        def exit_code = USAGE_ERROR
      end

      # Writes a line for each measurement: the time and the subject when it begins, its figure and
      # duration when it is over.
      #
      #   14:03:05 round 1 of 3: skep ... 493,000 messages/s (14.2 s)
      class Progress
        def initialize(err)
          @err = err
        end

        def start(text)
          close
          @began = OS.now
          @err.write("#{Time.now.strftime("%T")} #{text} ...")
          @open = true
        end

        def finish(text)
          @err.write(" #{text} (#{(OS.now - @began).round(1)} s)\n")
          @open = false
        end

        # Ends the line of a measurement that was interrupted.
        def close
          @err.write("\n") if @open
          @open = false
        end
      end

      # Runs a benchmark and returns the exit code.
      def self.start(argv, out: $stdout, err: $stderr)
        new(argv, out:, err:).run
      rescue Skep::Error, OptionParser::ParseError => e
        err.puts("bench: #{e.message}")
        e.is_a?(Skep::Error) ? e.exit_code : USAGE_ERROR
      end

      def initialize(argv, out:, err:)
        @out, @err = out, err
        @options = {}
        @arguments = parser.parse(argv)
      end

      def run
        return write_tables if @options[:table]
        return list if @options[:help] || @arguments.empty?

        name, *more = @arguments
        raise UsageError, "unexpected argument: #{more.first}" if more.any?

        benchmark = benchmark(name)
        @options[:save] ? save { measure(benchmark) } : show(measure(benchmark))
      rescue Errno::EPIPE # `bin/bench pid | head`
        raise Failed, "nothing reads the output"
      end

      private

      def parser
        @parser ||= OptionParser.new("usage: #{USAGE}", 24) do |parser|
          parser.on("--json", "print one line of JSON") { @options[:json] = true }
          parser.on("--rounds N", Integer, "measure each subject N times") do |rounds|
            raise UsageError, "--rounds must be at least 1 (got #{rounds})" unless rounds.positive?

            @options[:rounds] = rounds
          end
          parser.on("--only TEXT", "measure the subjects whose name contains TEXT;",
                    "skep: those that run skep's code") { |text| @options[:only] = text }
          parser.on("--against FOLDER", "measure these in another checkout, too") do |folder|
            @options[:checkout] = checkout(folder)
          end
          parser.on("--save", "write the raw results to #{Results::FOLDER}; only on a",
                    "machine that does nothing else") { @options[:save] = true }
          parser.on("--table", "write the tables of README and docs from these files") do
            @options[:table] = true
          end
          parser.on("-h", "--help", "show this") { @options[:help] = true }
        end
      end

      def checkout(folder)
        why = Checkout.refusal(folder)
        raise UsageError, "--against: #{why}" if why

        File.expand_path(folder)
      end

      def list
        @out.puts(parser.help, "")
        NAMES.each_key { |name| @out.puts("    #{name.ljust(10)} #{benchmark(name)::TITLE}") }
        0
      end

      def benchmark(name)
        constant = NAMES[name] or
          raise UsageError, "unknown benchmark #{name.inspect}: use #{NAMES.keys.join(", ")}"
        require_relative name
        Benchmarks.const_get(constant)
      end

      def measure(benchmark)
        progress = Progress.new(@err)
        benchmark.new(**@options.slice(:rounds, :only, :checkout), progress:).run
      rescue Interrupt
        raise Failed, "interrupted before all was measured"
      ensure
        progress&.close
      end

      def save
        partial = @options.keys & %i[only checkout]
        raise UsageError, "--save takes whole results, without --only and --against" if partial.any?

        before = busy
        raise Failed, too_busy(before) if before > QUIET

        Checkout.commit or raise UsageError, "--save: git is silent; give SKEP_BENCH_COMMIT"

        report = yield
        show(report)
        after = busy
        @err.puts("bench: #{Results.save(report, busy: [before, after])}")
        raise Failed, "don't commit it: #{too_busy(after)}" if after > QUIET

        0
      end

      def busy = Machine.busy || raise(Failed, "--save needs /proc")
      def too_busy(percent) = "other programs use #{percent}% of the processors"

      def write_tables
        @err.puts(Results.write.map { |page| "bench: #{page}" })
        0
      end

      def show(report)
        @out.puts(@options[:json] ? report.to_json : report.lines)
        0
      end
    end
  end
end

if $PROGRAM_NAME == __FILE__
  exit(Skep::Benchmarks::Subreaper.run { Skep::Benchmarks::Command.start(ARGV) })
end
