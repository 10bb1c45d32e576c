# frozen_string_literal: true

require "skep"
require "skep/cli"

# All commands, their options and exit codes, for the manual page, the shells' completions and the
# tests of the documentation.
#
#   CommandReference.entries.map(&:name)   # => ["run", "check", …]
#   entry.options                          # => [Option("-h", "--help", nil, "show this"), …]
module CommandReference
  # argument: its name in --help, nil if the option takes none. file?: true if it is a file's name.
  Option = Struct.new(:short, :long, :argument, :text) do
    def names = [short, long].compact
    def file? = argument.to_s.match?(/FILE|PATH|SWARM/)
  end

  # takes: the kind of its arguments: :swarm, :file, a list of words, or nil.
  Entry = Struct.new(:name, :purpose, :usage, :examples, :options, :takes)

  Code = Skep::ExitCode
  private_constant :Code

  # Exit codes, of all commands and of `skep run`.
  EXITS = {
    Code::OK => "done; of run: the swarm was stopped and all nodes ended in time, or all of its " \
                "work was finished",
    Code::FAILED => "failed, and stderr says why: run could not boot, no such swarm runs, doctor " \
                    "or chaos found a fault, or status --exit-status a swarm that isn't well",
    Code::FORCED => "run and stop: the stop was forced by a second TERM or INT or by QUIT, or " \
                    "skep killed a node during it",
    Code::ORPHANED => "node: its supervisor died",
    Code::CRASH_LOOP => "run: it gave up on a crash loop (on_crash_loop: :stop), or work that is " \
                        "not restarted ended with a failure",
    Code::USAGE => "wrong command line",
    Code::UNAVAILABLE => "a dependency was not available at boot (no broker answered): another " \
                         "attempt may succeed, and systemd makes one",
    Code::CONFIGURATION => "wrong configuration: a file, an option, a name already in use, or a " \
                           "login, topic or group that the broker refuses"
  }.freeze

  # The directory of control sockets, as in Swarm::Definition::Config; for sh.
  CONTROL_DIRECTORY = <<~'SH'
    local dir=${SKEP_RUN_DIR:-}
    if [ -z "$dir" ]; then
      if [ "$(id -u)" = 0 ]; then dir=/run/skep
      elif [ -n "${XDG_RUNTIME_DIR:-}" ]; then dir=$XDG_RUNTIME_DIR/skep
      else dir=/tmp/skep-$(id -u); fi
    fi
  SH

  module_function

  def entries = Skep::CLI.commands.map { |name| entry(name) }

  def entry(name)
    command = Skep::CLI.command(name)
    Entry.new(name, command::SUMMARY, command::USAGE, command::EXAMPLES, options(command),
              command::ARGUMENT || (:swarm if command::USAGE.include?("[NAME")))
  end

  def options(command)
    command.new([], out: nil, err: nil).switches.map do |switch|
      Option.new(switch.short.first, switch.long.first, switch.arg&.strip&.delete_prefix("="),
                 switch.desc.join(" "))
    end
  end
end
