# frozen_string_literal: true

module Skep
  class Web
    module Live
      # The last events of a swarm, one line each, as the page shows them; a Control::EventGap is a
      # line, too. Backtraces and all facts are kept separately, for the page that asks for them.
      #
      #   buffer = EventBuffer.new
      #   buffer.add(event)            # => the line to show
      #   buffer.to_a                  # => the last lines
      #   buffer.facts(42, time)       # => {"node" => 0, "error" => …}, that line's event, bounded;
      #                                #    nil: it isn't kept any more
      #   buffer.backtraces("0")       # => {time, pid, threads}, the last of node 0
      class EventBuffer
        LINES = 300
        NODES = 64
        TEXT = 400
        SHOWN = %w[node pid mold].freeze # in other places
        INNER = %w[v mono swarm].freeze
        ENTRIES = 50 # of an event's facts
        LONG = 2000 # characters of a fact
        private_constant :LINES, :NODES, :TEXT, :SHOWN, :INNER, :ENTRIES, :LONG

        def initialize
          @lines = []
          @whole = []
          @backtraces = {}
        end

        def to_a = @lines.dup
        def backtraces(node) = @backtraces[node]

        def add(event)
          line = event.is_a?(Control::EventGap) ? gap(event) : line(event)
          @lines = [*@lines, line].last(LINES)
          @whole = [*@whole, whole(event)].last(LINES)
          line
        end

        def facts(seq, time)
          event = @whole.find { |one| one.is_a?(Hash) && one["seq"] == seq && one["time"] == time }
          event&.except(*INNER)
        end

        private

        def whole(event)
          event.is_a?(Hash) ? BoundedFacts.new(entries: ENTRIES, text: LONG).of(event) : event
        end

        # seq: the page tells lines apart by it.
        def gap(gap)
          @gaps = @gaps.to_i + 1
          { "seq" => "gap #{@gaps}", "gap" => gap.to_s }
        end

        def line(event)
          keep_backtraces(event) if event["event"] == "node_backtraces"
          { **event.slice("seq", "time", "level", "event", "pid"),
            "node" => event["node"]&.to_s, "text" => text(event) }.compact
        end

        # Builds a new Hash: threads that answer requests read the old one.
        def keep_backtraces(event)
          node = event["node"].to_s
          all = { **@backtraces.except(node), node => event.slice("time", "pid", "threads") }
          @backtraces = all.to_a.last(NODES).to_h
        end

        def text(event)
          whole = Control::EventText.words(event, except: SHOWN).join(" ")
          whole.size > TEXT ? "#{whole[0, TEXT]}…" : whole
        end
      end
    end
  end
end
