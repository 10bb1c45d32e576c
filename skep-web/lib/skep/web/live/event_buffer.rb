# frozen_string_literal: true

module Skep
  class Web
    module Live
      # The last events of a swarm, one line each, as the page shows them. Backtraces are kept
      # separately, for the page that asks for them.
      #
      #   buffer = EventBuffer.new
      #   buffer.add(event)            # => the line to show
      #   buffer.to_a                  # => the last lines
      #   buffer.backtraces("0")       # => {time, pid, threads}, the last of node 0
      class EventBuffer
        LINES = 100
        NODES = 64
        TEXT = 400
        HEAD = %w[v seq time mono level event swarm node pid mold].freeze
        LONG = %w[threads tasks backtrace].freeze
        private_constant :LINES, :NODES, :TEXT, :HEAD, :LONG

        def initialize
          @lines = []
          @backtraces = {}
        end

        def to_a = @lines.dup
        def backtraces(node) = @backtraces[node]

        def add(event)
          keep_backtraces(event) if event["event"] == "node_backtraces"
          line = { **event.slice("seq", "time", "level", "event", "pid"),
                   "node" => event["node"]&.to_s, "text" => text(event) }.compact
          @lines = [*@lines, line].last(LINES)
          line
        end

        private

        # Builds a new Hash: threads that answer requests read the old one.
        def keep_backtraces(event)
          all = { **@backtraces, event["node"].to_s => event.slice("time", "pid", "threads") }
          @backtraces = all.to_a.last(NODES).to_h
        end

        def text(event)
          facts = event.except(*HEAD, *LONG).map do |key, value|
            "#{key}=#{value.is_a?(String) ? value : JSON.generate(value)}"
          end
          whole = facts.join(" ")
          whole.size > TEXT ? "#{whole[0, TEXT]}…" : whole
        end
      end
    end
  end
end
