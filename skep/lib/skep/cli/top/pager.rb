# frozen_string_literal: true

# Text in place of the table: help, backtraces. Keys scroll it; any other key closes it.
#
#   pager = Pager.new("help", ["q  quit"])
#   pager.scroll(5)
#   pager.lines(20)     # => at most 20 lines, from where it stands
#   traces = Pager.backtraces
#   traces.add(event)   # a node_backtraces event
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

          # Of the events that are added.
          def backtraces = new("backtraces", [])
        end

        attr_reader :title

        def initialize(title, lines)
          @title = title
          @lines = clean(lines)
          @first = 0
        end

        # Adds the threads of a node_backtraces event: to the end, or before all others if `first`.
        # Once it was scrolled, it stays where it is.
        def add(event, first: false)
          lines = clean([*threads(event), ""])
          return @lines.concat(lines) unless first

          @lines = lines + @lines
          @first += lines.size if @first.positive?
        end

        def scroll(steps)
          @first = (@first + steps).clamp(0, [@lines.size - 1, 0].max)
        end

        def lines(rows) = @lines[@first, rows].to_a

        private

        def clean(lines) = lines.map { |line| UI.clean(line) }

        def threads(event)
          head = "node #{event["node"]}, pid #{event["pid"]}"
          Array(event["threads"]).grep(Hash).flat_map do |thread|
            ["#{head}, thread #{thread["name"]} (#{thread["status"]})",
             *Array(thread["backtrace"]).map { |line| "    #{line}" }]
          end
        end
      end
    end
  end
end
