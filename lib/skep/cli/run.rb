# frozen_string_literal: true

# `skep run FILE`: becomes the supervisor of the swarm that FILE describes. `--inline` runs one
# node's work without forking.
module Skep
  module CLI
    class Run < Command
      PURPOSE = "run the swarm that a file describes"
      USAGE = "skep run FILE [options] [-- ARGUMENTS FOR THE FILE]"
      TAKES = :file
      EXAMPLES = ["skep run swarm.rb", "skep run swarm.rb --nodes 2 --log-format json",
                  "skep run --inline swarm.rb"].freeze

      def initialize(argv, **)
        @argv = argv
        super
      end

      private

      def declare(parser)
        declare_options(parser)
        parser.on("--inline", "one node's work in the foreground, no fork") do
          options[:inline] = true
        end
        declare_state_file(parser)
      end

      def declare_options(parser)
        set(parser, "--nodes N", Integer, "nodes instead of the file's")
        set(parser, "--control PATH", String, "the status socket's path")
        set(parser, "--metrics ADDRESS", String, "where metrics are served, IP:PORT or unix:/PATH")
        set(parser, "--log FILE", String, "log to a file instead of stdout")
        set(parser, "--log-level LEVEL", String, "debug, info, warn or error")
        set(parser, "--log-format FORMAT", String, "text, json or journal")
        set(parser, "--boot-timeout SECONDS", Float, "how long a node may take to be ready")
        set(parser, "--stop-timeout SECONDS", Float, "how long a node may take to stop")
      end

      # What is handed over with it is in the descriptor of that number.
      def declare_state_file(parser)
        what = "go on where another was: see `skep upgrade`"
        parser.on("--handed-over FD", Integer, what) { |fd| options[:handed_over] = fd }
      end

      def set(parser, flag, type, what)
        key = flag.split.first.delete_prefix("--").tr("-", "_")
        parser.on(flag, type, what) { |value| overrides[key] = value }
      end

      def overrides = options[:overrides] ||= {}

      def perform
        return resume if options[:handed_over]

        runner = options[:inline] ? inline : supervisor
        code = runner.run
        level = "<3>" if Watch::Journal.new.behind?(err) # an error's, sd-daemon(3)
        runner.failures.each { |sentence| err.puts("#{level}skep: #{sentence}") }
        code
      end

      def resume
        state_file = Swarm::Rollout::Upgrade::StateFile.read(options[:handed_over])
        return supervisor.resume(state_file) unless state_file.trial?

        supervisor([]).resume(state_file).tap do |code|
          err.puts(Swarm::Rollout::Upgrade::ABLE) if code.zero?
        end
      end

      # As they are given to the program that follows this one.
      def given = @argv.first.start_with?("--handed-over=") ? @argv.drop(1) : @argv

      def supervisor(observers = Swarm.observers)
        origin = Swarm::Molds::MoldLauncher::Exec.new(argument("FILE"), arguments: @arguments)
        Swarm::Supervisor.new(origin, overrides:, observers:, arguments: given)
      end

      def inline
        require "skep"
        file = argument("FILE")
        ARGV.replace(@arguments)
        observers = [Watch::Log.new(output: out)]
        Swarm::Processes::InlineRunner.new(file, overrides:, observers:)
      end
    end
  end
end
