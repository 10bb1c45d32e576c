# frozen_string_literal: true

# Text shown in place of the table: help, backtraces. Keys scroll it, any other closes it.
#
#   panel = Panel.new("help", ["q  quit"])
#   panel.scroll(5)
#   panel.lines(20)     # => 20 lines at most, from where it stands
module Skep
  module CLI
    class Top < Command
      class Panel
        HELP = <<~TEXT.lines(chomp: true).freeze
          up, down, k, j     choose a node; Page Up and Down, g and G go further
          Enter              all that is known of the chosen node
          r                  renew the chosen node: its successor is ready before it goes
          R                  renew all of them, one after the other
          + -                a node more, a node fewer
          b                  ask all nodes where their threads are, and show it
          Q                  quiet: finish what is in hand, take no more
          s                  stop the swarm
          q, ^C              leave; the swarm goes on

          r R - Q s ask first: y does it.

          beat: seconds since the node's last sign of progress. cpu%: of one processor.
          uss: memory that is the node's own; shared: what it has in common with others. A bar of
          memory shows both, as long as the node's is among the others'.
          rate/s: messages, or what its work counts, in a second. lag: Kafka's messages to come.
        TEXT
        private_constant :HELP

        def self.help = new("skep top: keys and columns", HELP) #: () -> Panel

        # Of one node.
        def self.facts(node) #: (Hash[String, untyped]) -> Panel
          text = JSON.pretty_generate(node, max_nesting: 0)
          new("node #{Text.clean(node["id"])}", text.lines(chomp: true))
        end

        # Of node_backtraces events, the one with this id first.
        def self.backtraces(events, id) #: (Array[Hash[String, untyped]], untyped) -> Panel
          sorted = events.partition { |event| event["node"] == id }.flatten
          new("where threads are", sorted.flat_map { |event| [*threads(event), ""] })
        end

        def self.threads(event)
          head = "node #{event["node"]}, pid #{event["pid"]}"
          Array(event["threads"]).grep(Hash).flat_map do |thread|
            ["#{head}, thread #{thread["thread"] || thread["name"]} (#{thread["status"]})",
             *Array(thread["backtrace"]).map { |line| "    #{line}" }]
          end
        end
        private_class_method :threads

        attr_reader :title #: String

        def initialize(title, lines) #: (String, Array[String]) -> void
          @title = title
          @lines = lines.map { |line| Text.clean(line) }
          @top = 0
        end

        def scroll(steps) #: (Integer) -> void
          @top = (@top + steps).clamp(0, [@lines.size - 1, 0].max)
        end

        def lines(rows) = @lines[@top, rows].to_a #: (Integer) -> Array[String]
      end
      private_constant :Panel
    end
  end
end
