# frozen_string_literal: true

require "optparse"
require "skep/watch"
require "skep/cli/command"
require "skep/cli/nearest"
require "skep/cli/text"

# The command line: `skep COMMAND …`. Each command is a class with a `run` that returns the exit
# code (docs/cli.md); a command that can't do what it is asked for says why in one sentence on
# stderr. Only the command that is asked for is loaded: a supervisor is thin.
module Skep
  module CLI
    COMMANDS = { "run" => :Run, "check" => :Check, "status" => :Status, "top" => :Top,
                 "restart" => :Restart,
                 "scale" => :Scale, "quiet" => :Quiet, "stop" => :Stop, "reload" => :Reload,
                 "upgrade" => :Upgrade, "doctor" => :Doctor, "chaos" => :Chaos, "bench" => :Bench,
                 "kafka" => :Kafka, "web" => :Web, "demo" => :Demo, "completion" => :Completion,
                 "man" => :Man }.freeze

    # The command line itself was wrong.
    class Misuse < Skep::Error
      def exit_code = ExitCode::USAGE #: () -> Integer
    end

    # The command line was right, but what it asks for can't be done as things are: there is no such
    # swarm, or the swarm refuses.
    class NotDone < Skep::Error
    end

    class << self
      # Runs a command and returns its exit code.
      def start(argv, out: $stdout, err: $stderr) #: (Array[String], ?out: IO, ?err: IO) -> Integer
        name, *rest = argv
        return help(out, *rest) if [nil, "help", "--help", "-h"].include?(name)
        return version(out) if %w[version --version -v].include?(name)

        command(name).new(rest, out:, err:).run
      rescue Skep::Error, OptionParser::ParseError => e
        err.puts("skep: #{Text.clean(e.message.split("\n").join(", "))}")
        e.is_a?(Skep::Error) ? e.exit_code : ExitCode::USAGE
      end

      # The class of a command.
      def command(name) #: (String) -> Class
        constant = COMMANDS[name] or
          raise Misuse, "there is no command #{name.inspect}: #{instead_of(name)}"
        require "skep/cli/#{name}"
        const_get(constant)
      end

      private

      def instead_of(name)
        nearest = Nearest.to(name, COMMANDS.keys)
        nearest ? "did you mean #{nearest}?" : "`skep help` lists those there are"
      end

      def help(out, name = nil, *)
        return command(name).new(["--help"], out:, err: out).run if name

        out.puts("usage: skep COMMAND [options]", "")
        COMMANDS.each_key { |name| out.puts("  #{name.ljust(10)} #{command(name)::PURPOSE}") }
        out.puts("", "`skep help COMMAND` tells more of one, and `skep man` of all.")
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
