# frozen_string_literal: true

# What there is to know of every command: `skep help`, shells' completion and the man page are made
# of it, and so never differ.
#
#   Manual.entries.map(&:name)     # => ["run", "check", …]
#   entry.options                  # => [Option("-h", "--help", nil, "show this"), …]
module Skep
  module CLI
    module Manual
      # argument: how --help calls it, nil where it takes none. file: is that a file's name?
      Option = Struct.new(:short, :long, :argument, :text) do
        def names = [short, long].compact
        def file? = argument.to_s.match?(/FILE|PATH|SWARM/)
      end

      # takes: what its arguments are: :swarm, :file, words, or nothing.
      Entry = Struct.new(:name, :purpose, :usage, :examples, :options, :takes)

      # Exit codes, of all commands and of `skep run`.
      EXITS = {
        ExitCode::OK => "done. Of run: the swarm was stopped and all nodes ended in time, or all " \
                        "of its work was over",
        ExitCode::FAILED => "not done; one sentence on stderr says why. Of run: it could not " \
                            "boot, because the application raised or no node became ready. Of " \
                            "status and of commands to a swarm: no such swarm runs. Of doctor, " \
                            "chaos and demo: something was found wrong",
        ExitCode::FORCED => "of run: the end was forced by a second TERM or INT or by QUIT, or a " \
                            "node had to be killed at stop_timeout",
        ExitCode::ORPHANED => "of a node whose supervisor died",
        ExitCode::CRASH_LOOP => "of run: it gave up on a crash loop (on_crash_loop: :stop), or " \
                                "work that is not to start again ended badly",
        ExitCode::USAGE => "wrong command line",
        ExitCode::UNAVAILABLE => "a dependency was not there (no broker answered): trying again " \
                                 "may help, and systemd does",
        ExitCode::CONFIGURATION => "wrong configuration, of run and check: a file or an option, " \
                                   "a name that runs already, a login, topic or group that the " \
                                   "broker refuses"
      }.freeze

      module_function

      def entries = COMMANDS.keys.map { |name| entry(name) } #: () -> Array[Entry]

      def entry(name) #: (String) -> Entry
        command = CLI.command(name)
        Entry.new(name, command::PURPOSE, command::USAGE, command::EXAMPLES, options(command),
                  command::TAKES || (:swarm if command::USAGE.include?("[NAME")))
      end

      def options(command)
        command.new([], out: nil, err: nil).switches.map do |switch|
          Option.new(switch.short.first, switch.long.first, switch.arg&.strip&.delete("="),
                     switch.desc.join(" "))
        end
      end
    end
  end
end
