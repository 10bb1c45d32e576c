# frozen_string_literal: true

module Skep
  module CLI
    class Status < Command
      # All swarms of a host, a line each.
      #
      #   puts Several.new([["billing", status], ["mail", nil]], colours)      # mail doesn't answer
      class Several
        HEAD = ["swarm", "state", "nodes", "ready", "restarts", "lag", "up", "pid"].freeze
        private_constant :HEAD

        #: (Array[[String, Hash[String, untyped]?]], Colours) -> void
        def initialize(told, colours)
          @colours = colours
          @rows = told.map do |name, status|
            status ? row(name, status) : [name, "silent", *[nil] * 6]
          end
        end

        def to_s #: () -> String
          Columns.new(HEAD, @rows).to_s do |cell, row, column|
            next @colours.look(cell, :bold) unless row

            column == 1 ? @colours.look(cell, Colours.of_state(cell.strip)) : cell
          end
        end

        private

        def row(name, status)
          nodes = status["nodes"].select { |node| node["id"].is_a?(Integer) }
          lags = nodes.filter_map { |node| node["work"]["lag"] }.grep(Numeric)
          [name, status["crash_loop"] ? "crash loop" : status["state"], nodes.size,
           nodes.count { |node| node["state"] == "ready" },
           nodes.sum { |node| node["restarts"].to_i }, (lags.sum if lags.any?),
           "#{status["uptime"].round} s", status["pid"]]
        end
      end
      private_constant :Several
    end
  end
end
