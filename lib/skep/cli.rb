# frozen_string_literal: true

require "optparse"
require "skep/watch"

# The command line: `skep COMMAND …`. Each command is a class with a `run` that returns the exit code; what a person
# did wrong comes as one sentence on stderr and exit code 1.
module Skep
  module CLI
    # The command line itself was wrong.
    class Misuse < Skep::Error
    end

    def self.start(argv, out: $stdout, err: $stderr) #: (Array[String], ?out: IO, ?err: IO) -> Integer
      name, *rest = argv
      return help(out) if [nil, "help", "--help", "-h"].include?(name)
      return version(out) if %w[version --version -v].include?(name)

      command = COMMANDS[name] or raise Misuse, "there is no command #{name.inspect}: `skep help` lists those there are"
      command.new(rest, out:, err:).run
    rescue Skep::Error, OptionParser::ParseError => e
      err.puts("skep: #{e.message}")
      1
    end

    def self.help(out) #: (IO) -> Integer
      out.puts("usage: skep COMMAND [options]", "")
      COMMANDS.each { |name, command| out.puts("  #{name.ljust(8)} #{command::PURPOSE}") }
      out.puts("", "`skep COMMAND --help` tells more of one.")
      0
    end

    def self.version(out) #: (IO) -> Integer
      out.puts("skep #{VERSION} (ruby #{RUBY_VERSION}, #{OS.native? ? 'native' : 'pure Ruby twins'})")
      0
    end
  end
end

require "skep/cli/command"
require "skep/cli/run"
require "skep/cli/check"
require "skep/cli/status"
require "skep/cli/tell"

module Skep
  module CLI
    COMMANDS = { "run" => Run, "check" => Check, "status" => Status, "quiet" => Quiet, "stop" => Stop }.freeze
  end
end
