# frozen_string_literal: true

require "optparse"
require "skep/log"
require "skep/control"
require "skep/systemd"
require "skep/metrics"
require "skep/plugin"
require "skep/spelling"
require "skep/cli/errors"
require "skep/cli/ui"
require "skep/cli/command"

# The command line: `skep COMMAND …`. Each command is a class with a `run` that returns the exit
# code (docs/reference/exit_codes.md). A command that fails prints one sentence on stderr. Only the
# requested command is loaded, so that a supervisor stays small.
module Skep
  module CLI
    # skep's own commands, by group.
    GROUPS = { "Run" => %w[run check], "Inspect" => %w[status top events],
               "Control" => %w[restart reload scale quiet resume stop],
               "Diagnose" => %w[doctor profile chaos] }.freeze
    OWN = GROUPS.values.flatten.freeze
    CONTROL = GROUPS.fetch("Control")
    VERSION_SUMMARY = "Show the versions of skep and Ruby, and whether skep uses its C part"
    FULL = [Errno::ENOSPC, Errno::EDQUOT, Errno::EFBIG, Errno::EIO].freeze
    private_constant :GROUPS, :OWN, :CONTROL, :FULL

    class << self
      # Runs a command and returns its exit code. Output that can't be written is no success.
      def start(argv, out: $stdout, err: $stderr)
        code = perform(*argv, out:, err:)
        flush(out)
        code
      rescue *FULL => e
        err.puts("skep: can't write: #{UI.clean(e.message)}")
        ExitCode::FAILED
      rescue Skep::Error, OptionParser::ParseError => e
        err.puts("skep: #{UI.clean(e.message.split("\n").join(", "))}")
        e.is_a?(Skep::Error) ? e.exit_code : ExitCode::USAGE
      end

      # Returns the class of a command.
      def command(name)
        return plugin_command(name) unless OWN.include?(name)

        file = CONTROL.include?(name) ? "control" : name
        require "skep/cli/commands/#{file}"
        Commands.const_get(name.capitalize, false)
      end

      # Returns the names of all commands. It searches for all plugins, as `groups` does.
      def commands = groups.values.flatten

      # Returns the commands of `skep help`, by group.
      def groups
        added = Plugin.all.select { |_, plugin| plugin.command }.keys
        GROUPS.merge("Inspect" => [*GROUPS["Inspect"], *added])
      end

      private

      def perform(name = nil, *rest, out:, err:)
        return help(out, rest) if [nil, "help", "--help", "-h"].include?(name)
        return version(out) if %w[version --version -v].include?(name)

        command(name).new(rest, out:, err:).run
      end

      def flush(out)
        out.flush
      rescue Errno::EPIPE # what reads the output has ended: `skep status | head`
        nil
      end

      def plugin_command(name)
        Plugin.find(name)&.command or
          raise UsageError, "unknown command: #{name}: #{advice(name)}"
      end

      def advice(name)
        gem = Plugin.installation(name, command: true)
        return gem if gem

        near = Spelling.nearest(name, commands)
        near ? "did you mean #{near}?" : "`skep help` lists the commands"
      end

      def help(out, words)
        name, *subcommand = words
        return command(name).new([*subcommand, "--help"], out:, err: out).run if name

        out.puts("usage: skep COMMAND [options]")
        groups.each do |group, names|
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
