# frozen_string_literal: true

require "skep/cli/manual"

# `skep completion SHELL`: prints what lets a shell complete commands, options and the names of
# swarms that run. Made of what --help says. The script starts no Ruby.
module Skep
  module CLI
    class Completion < Command
      PURPOSE = "print what lets bash, zsh or fish complete skep's words"
      USAGE = "skep completion bash|zsh|fish"
      EXAMPLES = ["skep completion bash > /etc/bash_completion.d/skep",
                  "skep completion zsh > \"${fpath[1]}/_skep\"",
                  "skep completion fish > ~/.config/fish/completions/skep.fish"].freeze
      SHELLS = { "bash" => :Bash, "zsh" => :Zsh, "fish" => :Fish }.freeze
      TAKES = SHELLS.keys.freeze

      # Where status sockets are, as Swarm::Definition::Config has it; for sh.
      DIRECTORY = <<~'SH'
        local dir=${SKEP_RUN_DIR:-}
        if [ -z "$dir" ]; then
          if [ "$(id -u)" = 0 ]; then dir=/run/skep
          elif [ -n "${XDG_RUNTIME_DIR:-}" ]; then dir=$XDG_RUNTIME_DIR/skep
          else dir=/tmp/skep-$(id -u); fi
        fi
      SH

      private

      def perform
        shell = argument("the shell")
        nothing_more
        constant = SHELLS[shell] or
          raise Misuse, "there is nothing for #{shell.inspect}, but for #{SHELLS.keys.join(", ")}"
        require "skep/cli/completion/#{shell}"
        out.puts(Completion.const_get(constant).new(Manual.entries).to_s)
        0
      end
    end
  end
end
