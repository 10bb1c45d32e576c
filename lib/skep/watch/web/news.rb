# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # The last events of a swarm, as the page shows them: a line each. Long facts, such as
      # backtraces, are kept apart, for who asks.
      #
      #   news = News.new
      #   news.add(event)            # => what to show of it
      #   news.to_a                  # => the last of them
      #   news.backtraces("0")       # => {pid, threads} of the last that came of node 0
      class News
        LINES = 100
        NODES = 64
        TEXT = 400
        HEAD = %w[v seq time mono level event swarm node pid mold].freeze
        LONG = %w[threads tasks backtrace].freeze
        private_constant :LINES, :NODES, :TEXT, :HEAD, :LONG

        def initialize #: () -> void
          @lines = []
          @backtraces = {}
        end

        def to_a = @lines.dup #: () -> Array[Hash[String, untyped]]
        def backtraces(node) = @backtraces[node] #: (String?) -> Hash[String, untyped]?

        def add(event) #: (Hash[String, untyped]) -> Hash[String, untyped]
          keep(event) if event["event"] == "node_backtraces"
          line = { **event.slice("seq", "time", "level", "event", "pid"),
                   "node" => event["node"]&.to_s, "text" => text(event) }.compact
          @lines = [*@lines, line].last(LINES)
          line
        end

        private

        # A new hash: threads that answer requests read it.
        def keep(event)
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
      private_constant :News
    end
  end
end
