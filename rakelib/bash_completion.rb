# frozen_string_literal: true

require_relative "command_reference"

# The script for bash, 3.2 or newer. Where it has no completion bash completes files.
class BashCompletion
  def initialize(entries)
    @entries = entries
  end

  def to_s
    <<~BASH
      # bash completion of skep, made by `rake completions`
      _skep_swarms() {
      #{CommandReference::CONTROL_DIRECTORY.gsub(/^/, "  ")}
        local socket name
        for socket in "$dir"/*.sock; do
          [ -S "$socket" ] || continue
          name=${socket##*/}; name=${name%.sock}
          [[ $name == "$1"* ]] && COMPREPLY+=("$name")
        done
        return 0
      }

      _skep() {
        local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options= words=
        COMPREPLY=()
        if [ "$COMP_CWORD" = 1 ]; then
          COMPREPLY=($(compgen -W "#{names}" -- "$cur"))
          return
        fi
        case ${COMP_WORDS[1]} in
      #{@entries.map { |entry| choice(entry) }.join}    help) words="#{names}" ;;
        esac
        if [[ $cur == -* ]]; then
          COMPREPLY=($(compgen -W "$options" -- "$cur"))
        elif [ "$words" = :swarm ]; then
          _skep_swarms "$cur"
        elif [ -n "$words" ]; then
          COMPREPLY=($(compgen -W "$words" -- "$cur"))
        fi
      }
      complete -o default -F _skep skep
    BASH
  end

  private

  def names = [*@entries.map(&:name), "help"].join(" ")

  # An option's own argument is a file or unknown.
  def choice(entry)
    taking = entry.options.select(&:argument).flat_map(&:names)
    ["    #{entry.name})",
     %(      options="#{entry.options.flat_map(&:names).join(" ")}" words="#{words(entry.takes)}"),
     "      #{"case $prev in #{taking.join("|")}) return ;; esac" if taking.any?} ;;\n"].join("\n")
  end

  def words(takes)
    case takes
    when :swarm then ":swarm"
    when Array then takes.join(" ")
    end
  end
end
