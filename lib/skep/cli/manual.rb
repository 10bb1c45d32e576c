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
        0 => "it was done. Of run: the swarm was stopped and all nodes ended in time, or all of " \
             "its work was over",
        1 => "it wasn't done, and one sentence on stderr says why. Of run: it could not boot. Of " \
             "check, doctor, chaos, demo: something was found wrong",
        2 => "of run: the end was forced, by a second signal or because a node had to be killed",
        3 => "of a node whose supervisor had died",
        4 => "of run: it gave up on a crash loop (on_crash_loop: :stop)"
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
