# frozen_string_literal: true

# Colours and weight of text on a terminal, as escape sequences.
#
#   ansi = Ansi.for($stdout)        # off if that is no terminal, a dumb one, or NO_COLOR is set
#   ansi.style("ready", :green)     # => "\e[32mready\e[0m", or "ready" if colours are off
#   Ansi.color_of_node(node)        # => the colour of a node's state, as in `skep status`
module Skep
  module CLI
    module UI
      class Ansi
        CODES = { bold: 1, dim: 2, reverse: 7, red: 31, green: 32, yellow: 33, blue: 34,
                  cyan: 36 }.freeze
        STATES = { "ready" => :green, "spare" => :cyan, "quiet" => :cyan, "dead" => :red,
                   "waiting" => :red, "running" => :green, "silent" => :red,
                   "crash loop" => :red }.freeze
        private_constant :CODES, :STATES

        class << self
          # Returns false if the environment asks for no colours (no-color.org).
          def wanted?(env) = env["NO_COLOR"].to_s.empty?

          def for(out, env: ENV) = new(out.tty? && env["TERM"] != "dumb" && wanted?(env))

          def color_of_node(node) = node["unhealthy"] ? :yellow : color_of_state(node["state"])

          # The colour of the state of a node or a swarm.
          def color_of_state(state) = STATES.fetch(state, :yellow)
        end

        def initialize(enabled)
          @enabled = enabled
        end

        def style(text, *styles)
          return text if !@enabled || styles.empty? || text.empty?

          "\e[#{styles.map { |name| CODES.fetch(name) }.join(";")}m#{text}\e[0m"
        end
      end
    end
  end
end
