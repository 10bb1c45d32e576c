# frozen_string_literal: true

module Skep
  module CLI
    # All swarms of a host as a table, one row each.
    #
    #   puts SwarmList.new([["billing", status], ["mail", nil]], ansi)   # nil: it doesn't answer
    class SwarmList
      HEAD = ["swarm", "state", "problems", "nodes", "ready", "restarts", "lag", "up", "pid"].freeze
      STATE = HEAD.index("state")
      private_constant :HEAD, :STATE

      def initialize(statuses, ansi)
        @ansi = ansi
        @rows = statuses.map do |name, status|
          status ? row(name, status) : [name, "silent", *[nil] * 7]
        end
      end

      def to_s
        UI::TextTable.new(HEAD, @rows).to_s do |cell, row, column|
          next @ansi.style(cell, :bold) unless row

          column == STATE ? @ansi.style(cell, UI::Ansi.color_of_state(cell.strip)) : cell
        end
      end

      private

      def row(name, status)
        nodes = status["nodes"].select { |node| node["id"].is_a?(Integer) }
        [name, status["crash_loop"] ? "crash loop" : status["state"],
         status["problems"].to_a.size, nodes.size,
         nodes.count { |node| node["state"] == "ready" },
         nodes.sum { |node| node["restarts"].to_i }, lag(status),
         "#{status["uptime"].round} s", status["pid"]]
      end

      # "12+": the lag of a part of its work isn't known.
      def lag(status)
        lag, unknown = Plugin.lag(status)
        unknown && lag ? "#{lag}+" : lag
      end
    end
  end
end
