# frozen_string_literal: true

# The looks of text on a terminal: escape sequences, where somebody sees them.
#
#   colours = Colours.of($stdout)        # on a terminal that isn't dumb, unless NO_COLOR is set
#   colours.look("ready", :green)        # => "\e[32mready\e[0m", or "ready"
#   Colours.of_node(node)                # => the colour of its state, as `skep status` tells it
module Skep
  module CLI
    class Colours
      CODES = { bold: 1, dim: 2, reverse: 7, red: 31, green: 32, yellow: 33, blue: 34,
                cyan: 36 }.freeze
      STATES = { "ready" => :green, "spare" => :cyan, "quiet" => :cyan, "dead" => :red,
                 "waiting" => :red, "running" => :green, "silent" => :red,
                 "crash loop" => :red }.freeze
      private_constant :CODES, :STATES

      # Does a person's environment ask for them?
      def self.wanted?(env) = env["NO_COLOR"].to_s.empty? #: (untyped) -> bool

      def self.of(out, env: ENV) #: (untyped, ?env: untyped) -> Colours
        new(out.tty? && env["TERM"] != "dumb" && wanted?(env))
      end

      def self.of_node(node) #: (Hash[String, untyped]) -> Symbol
        node["unhealthy"] ? :yellow : of_state(node["state"])
      end

      # Of a node or a swarm.
      def self.of_state(state) = STATES.fetch(state, :yellow) #: (String) -> Symbol

      def initialize(shown) #: (bool) -> void
        @shown = shown
      end

      def look(text, *looks) #: (String, *Symbol) -> String
        return text if !@shown || looks.empty? || text.empty?

        "\e[#{looks.map { |name| CODES.fetch(name) }.join(";")}m#{text}\e[0m"
      end
    end
    private_constant :Colours
  end
end
