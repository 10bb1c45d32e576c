# frozen_string_literal: true

require "optparse"
require "skep/log"
require "skep/control"
require "skep/systemd"
require "skep/metrics"
require "skep/spelling"
require "skep/cli/errors"
require "skep/cli/ui"
require "skep/cli/command"

# The command line: `skep COMMAND …`. Each command is a class with a `run` that returns the exit
# code (docs/reference/exit_codes.md). A command that fails prints one sentence on stderr. Only the
# requested command is loaded, so that a supervisor stays small.
module Skep
  module CLI
    # The commands of `skep help`, by group.
    GROUPS = { "Run" => %w[run check], "Inspect" => %w[status top web kafka],
               "Control" => %w[restart reload scale quiet resume stop],
               "Diagnose" => %w[doctor chaos] }.freeze
    COMMANDS = GROUPS.values.flatten.to_h { |name| [name, name.capitalize.to_sym] }.freeze
    CONTROL = GROUPS.fetch("Control")
    VERSION_SUMMARY = "Show the versions of skep and Ruby, and whether skep uses its C part"
    private_constant :CONTROL

    class << self
      # Runs a command and returns its exit code.
      def start(argv, out: $stdout, err: $stderr)
        name, *rest = argv
        return help(out, rest) if [nil, "help", "--help", "-h"].include?(name)
        return version(out) if %w[version --version -v].include?(name)

        command(name).new(rest, out:, err:).run
      rescue Skep::Error, OptionParser::ParseError => e
        err.puts("skep: #{UI.clean(e.message.split("\n").join(", "))}")
        e.is_a?(Skep::Error) ? e.exit_code : ExitCode::USAGE
      end

      # Returns the class of a command.
      def command(name)
        constant = COMMANDS[name] or raise UsageError, "unknown command: #{name}: #{advice(name)}"
        file = CONTROL.include?(name) ? "control" : name
        require "skep/cli/commands/#{file}"
        Commands.const_get(constant, false)
      end

      private

      def advice(name)
        near = Spelling.nearest(name, COMMANDS.keys)
        near ? "did you mean #{near}?" : "`skep help` lists the commands"
      end

      def help(out, words)
        name, *subcommand = words
        return command(name).new([*subcommand, "--help"], out:, err: out).run if name

        out.puts("usage: skep COMMAND [options]")
        GROUPS.each do |group, names|
          out.puts("", "#{group}:")
          names.each { |one| out.puts("  #{one.ljust(10)} #{command(one)::SUMMARY}") }
        end
        out.puts("", "  #{"version".ljust(10)} #{VERSION_SUMMARY}")
        out.puts("", "`skep help COMMAND` shows the options and examples of a command.")
        0
      end

      def version(out)
        kind = OS.native? ? "native" : "pure Ruby fallbacks"
        out.puts("skep #{VERSION} (ruby #{RUBY_VERSION}, #{kind})")
        0
      end
    end
  end
end
