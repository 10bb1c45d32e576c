# frozen_string_literal: true

require "skep/cli/swarm_command"
require "skep/cli/top"

# `skep top [NAME]`: a running swarm in a terminal, live, with keys to control it. Without a
# terminal it prints its table once. It costs the supervisor one status a second, two while much
# happens.
module Skep
  module CLI
    module Commands
      class Top < SwarmCommand
        SUMMARY = "Watch a running swarm and control it by keys"
        USAGE = "skep top [NAME] [--once]"
        EXAMPLES = ["skep top", "skep top billing", "skep top billing --once > top.txt"].freeze
        PLAIN_COLUMNS = 160
        private_constant :PLAIN_COLUMNS

        private

        def declare(parser)
          super
          parser.on("--once", "print it once, as without a terminal") do
            options[:once] = true
          end
        end

        def perform
          path = control_path
          reject_extra_arguments!
          status = Control::Client.new(path).status
          live? ? CLI::Top::App.new(path, status, input: $stdin, output: out).run : once(status)
          0
        end

        def live?
          !options[:once] && out.tty? && $stdin.tty? && !["", "dumb"].include?(ENV["TERM"].to_s)
        end

        def once(status)
          renderer = CLI::Top::Renderer.new(CLI::Top::Styler.new(color: false))
          out.puts(renderer.plain(CLI::Top::Model.new(status),
                                  columns: UI.width(out) || PLAIN_COLUMNS))
        end
      end
    end
  end
end
