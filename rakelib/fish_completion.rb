# frozen_string_literal: true

require_relative "command_reference"

# The script for fish.
class FishCompletion
  def initialize(entries)
    @entries = entries
  end

  def to_s
    [preface, *@entries.flat_map { |entry| lines(entry) },
     first("help", "Show the commands, or all about one"),
     "#{complete("help")} -f -a #{quoted(@entries.map(&:name).join(" "))}"].join("\n")
  end

  private

  def preface
    <<~FISH
      # fish completion of skep, made by `rake completions`
      function __skep_swarms
        set -l dir $SKEP_RUN_DIR
        if test -z "$dir"
          if test (id -u) = 0
            set dir /run/skep
          else if test -n "$XDG_RUNTIME_DIR"
            set dir $XDG_RUNTIME_DIR/skep
          else
            set dir /tmp/skep-(id -u)
          end
        end
        for socket in $dir/*.sock
          test -S $socket; and string replace -r '.*/(.*)\\.sock$' '$1' -- $socket
        end
      end
      complete -c skep -e
    FISH
  end

  def lines(entry)
    [first(entry.name, entry.purpose), *arguments(entry),
     *entry.options.map { |option| option(entry, option) }]
  end

  def first(name, text)
    "complete -c skep -n __fish_use_subcommand -f -a #{name} -d #{quoted(text)}"
  end

  def arguments(entry)
    case entry.takes
    when :swarm then "#{complete(entry.name)} -f -a '(__skep_swarms)'"
    when :file then "#{complete(entry.name)} -F"
    when Array then "#{complete(entry.name)} -f -a #{quoted(entry.takes.join(" "))}"
    else "#{complete(entry.name)} -f"
    end
  end

  def option(entry, option)
    names = [option.short && "-s #{option.short.delete("-")}",
             option.long && "-l #{option.long.delete_prefix("--")}"].compact
    taking = option.file? ? " -r -F" : " -x" if option.argument
    "#{complete(entry.name)} #{names.join(" ")}#{taking} -d #{quoted(option.text)}"
  end

  def complete(name) = "complete -c skep -n '__fish_seen_subcommand_from #{name}'"
  def quoted(text) = "'#{text.gsub(/['\\]/) { |char| "\\#{char}" }}'"
end
