# frozen_string_literal: true

# Text in place of the table: help, backtraces. Keys scroll it; any other key closes it.
#
#   pager = Pager.new("help", ["q  quit"])
#   pager.scroll(5)
#   pager.lines(20)     # => at most 20 lines, from where it stands
module Skep
  module CLI
    module Top
      class Pager
        HELP = <<~TEXT.lines(chomp: true).freeze
          up, down, k, j     select a node; Page Up and Down, g and G go further
          Enter              show all facts of the selected node
          r                  restart the selected node: its successor is ready before it stops
          R                  restart all nodes, one after the other, on the same code
          + -                one node more, one fewer; of the selected node's work
          b                  show the backtraces of all nodes' threads
          Q                  quiet: finish what is in flight, take no new work; again: resume
          s                  stop the swarm
          q, ^C              leave; the swarm continues

          r R - Q s ask first; y confirms.

          !: a node that has a problem; these come first.
          beat: seconds since the node's last sign of progress. cpu%: of one processor.
          uss: memory of the node alone; shared: memory that it shares with others. The bar
          shows both, compared with the largest node.
          rate/s: messages or items a second. lag: messages that wait.
        TEXT
        private_constant :HELP

        class << self
          def help = new("skep top: keys and columns", HELP)

          # All facts of a node.
          def facts(node)
            text = JSON.pretty_generate(node, max_nesting: 0)
            new("node #{UI.clean(node["id"])}", text.lines(chomp: true))
          end

          # Of node_backtraces events; the node with this id comes first.
          def backtraces(events, id)
            sorted = events.partition { |event| event["node"] == id }.flatten
            new("backtraces", sorted.flat_map { |event| [*threads(event), ""] })
          end

          private

          def threads(event)
            head = "node #{event["node"]}, pid #{event["pid"]}"
            Array(event["threads"]).grep(Hash).flat_map do |thread|
              ["#{head}, thread #{thread["name"]} (#{thread["status"]})",
               *Array(thread["backtrace"]).map { |line| "    #{line}" }]
            end
          end
        end

        attr_reader :title

        def initialize(title, lines)
          @title = title
          @lines = lines.map { |line| UI.clean(line) }
          @first = 0
        end

        def scroll(steps)
          @first = (@first + steps).clamp(0, [@lines.size - 1, 0].max)
        end

        def lines(rows) = @lines[@first, rows].to_a
      end
    end
  end
end
