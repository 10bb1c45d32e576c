# frozen_string_literal: true

require_relative "command_reference"

# The script for zsh: as _skep in a folder of $fpath, or sourced.
class ZshCompletion
  def initialize(entries)
    @entries = entries
  end

  def to_s
    <<~ZSH
      #compdef skep
      # zsh completion of skep, made by `rake completions`
      _skep_swarms() {
      #{CommandReference::CONTROL_DIRECTORY.gsub(/^/, "  ")}
        local -a names
        names=("$dir"/*.sock(N=:t:r))
        compadd -a names
      }

      _skep() {
        local -a commands
        commands=(
      #{@entries.map { |entry| "    #{quoted("#{entry.name}:#{entry.purpose}")}\n" }.join}\
          'help:Show the commands, or all about one'
        )
        if (( CURRENT == 2 )); then
          _describe command commands
          return
        fi
        local command=$words[2]
        shift words
        (( CURRENT-- ))
        case $command in
      #{@entries.map { |entry| choice(entry) }.join}    help) _describe command commands ;;
        esac
      }

      if [ "$funcstack[1]" = _skep ]; then _skep "$@"; else compdef _skep skep; fi
    ZSH
  end

  private

  def choice(entry)
    specs = entry.options.flat_map { |option| option.names.map { |name| spec(name, option) } }
    lines = [*specs, *rest(entry.takes)].map { |spec| " \\\n      #{quoted(spec)}" }
    "    #{entry.name}) _arguments#{lines.join} ;;\n"
  end

  def spec(name, option)
    text = option.text.gsub(/[\[\]:\\]/) { |char| "\\#{char}" }
    value = ":#{option.argument.tr(":", " ")}:#{"_files" if option.file?}" if option.argument
    "#{name}[#{text}]#{value}"
  end

  def rest(takes)
    case takes
    when :swarm then "*:swarm:_skep_swarms"
    when :file then "*:file:_files"
    when Array then "*:word:(#{takes.join(" ")})"
    end
  end

  def quoted(text) = "'#{text.gsub("'", "'\\\\''")}'"
end
