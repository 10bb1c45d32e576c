# frozen_string_literal: true

require "skep/cli/file_command"
require "skep/cli/pidfile"

# `skep run [FILE]`: becomes the supervisor of the swarm that FILE describes. With --inline it runs
# one node's work without forking.
module Skep
  module CLI
    module Commands
      class Run < FileCommand
        SUMMARY = "Run the swarm that a file describes"
        USAGE = "skep run [FILE] [options] [-- ARGUMENTS FOR THE FILE]"
        EXAMPLES = ["skep run", "skep run swarm.rb --nodes 2 --log-format json",
                    "skep run swarm.rb --pidfile /run/billing.pid",
                    "skep run --inline swarm.rb", "skep run --inline --work web"].freeze

        private

        def declare(parser)
          declare_options(parser)
          parser.on("--pidfile PATH", "write the supervisor's pid to a file") do |path|
            options[:pidfile] = path
          end
          parser.on("--inline", "one node's work in the foreground, no fork") do
            options[:inline] = true
          end
          parser.on("--work WORK", "with --inline: this work, not the first") do |name|
            options[:work] = name
          end
        end

        def declare_options(parser)
          set(parser, "--nodes N", Integer, "nodes instead of the file's")
          set(parser, "--control PATH", String, "the control socket's path; false: none")
          set(parser, "--metrics ADDRESS", String,
              "where metrics are served, IP:PORT or unix:/PATH")
          set(parser, "--log FILE", String, "log to a file instead of stdout")
          set(parser, "--log-level LEVEL", String, "debug, info, warn or error")
          set(parser, "--log-format FORMAT", String, "text, json or journal")
          set(parser, "--boot-timeout SECONDS", Float, "how long a node may take to be ready")
          set(parser, "--stop-timeout SECONDS", Float, "how long a node may take to stop")
        end

        def set(parser, flag, type, what)
          key = flag.split.first.delete_prefix("--").tr("-", "_")
          parser.on(flag, type, what) { |value| overrides[key] = value }
        end

        def overrides = options[:overrides] ||= {}

        def perform
          raise UsageError, "--work needs --inline: #{usage}" if options[:work] && !options[:inline]

          runner = options[:inline] ? inline : supervisor
          code = runner.run
          level = "<3>" if Log::Journal.new.behind?(err) # an error's, sd-daemon(3)
          runner.failures.each { |sentence| err.puts("#{level}skep: #{sentence}") }
          code
        ensure
          pidfile&.release
        end

        def supervisor
          origin = Swarm::Molds::MoldLauncher::Exec.new(swarm_file, arguments: file_arguments)
          Swarm::Supervisor.new(origin, overrides:, observers: [*pidfile, *Swarm.observers])
        end

        def pidfile = @pidfile ||= options[:pidfile]&.then { |path| Pidfile.new(path) }

        def inline
          require "skep"
          file = swarm_file
          ARGV.replace(file_arguments)
          pidfile&.take
          observers = [Log::EventLog.new(output: out)]
          Swarm::Processes::InlineRunner.new(file, overrides:, observers:, work: options[:work])
        end
      end
    end
  end
end
