# frozen_string_literal: true

# The lines about the swarm as a whole, and what is wrong with it.
#
#   Header.new(model, styler, columns: 80).lines
module Skep
  module CLI
    module Top
      class Header
        PROBLEMS = 3 # that are shown
        FIRST_LINES = 3 # of the most urgent one
        GAP = "   "
        private_constant :PROBLEMS, :FIRST_LINES, :GAP

        def initialize(model, styler, columns:)
          @model = model
          @status = model.status
          @problems = UI::ProblemLines.new(@status)
          @styler = styler
          @columns = columns
        end

        def lines
          [*flow(swarm), *notes.map { |note| @styler.line([note], @columns) }, *flow(totals)]
        end

        private

        # Puts as many facts into a line as it has room for.
        def flow(facts)
          lines = facts.compact.each_with_object([[]]) do |(text, style), all|
            text = UI.clean(text)
            used = all.last.sum { |piece, _| UI::DisplayWidth.of(piece) }
            needed = used + GAP.size + UI::DisplayWidth.of(text)
            all << [] if used.positive? && needed > @columns
            all.last << [GAP] if all.last.any?
            all.last << [text, style]
          end
          lines.map { |pieces| @styler.line(pieces, @columns) }
        end

        def swarm
          state = @status["state"]
          color = @problems.color || (state == "running" ? :green : :yellow)
          [[@status["name"], :bold], [state, color],
           ["up #{UI::Humanize.duration(@status["uptime"])}"], [nodes], ["pid #{@status["pid"]}"],
           ["skep #{@status["skep"]} (ruby #{@status["ruby"]})"]]
        end

        def nodes
          states = @model.nodes.group_by { |node| node["state"] }.transform_values(&:size)
          sorted = states.sort_by { |state, count| [state == "ready" ? 0 : 1, -count] }
          sorted.map { |state, count| "#{count} #{state}" }.join(", ")
        end

        def totals
          supervisor = @model.supervisor_memory
          [cpu, ["nodes' memory #{UI::Humanize.bytes(own_memory)}"],
           (["supervisor's #{UI::Humanize.bytes(supervisor)}"] if supervisor), rate, lag,
           ["restarts #{@model.slots.sum { |node| node["restarts"].to_i }}"]]
        end

        def own_memory = @model.nodes.sum { |node| node["memory"].to_h["uss"].to_i }

        def cpu
          all = @model.nodes.filter_map { |node| @model.cpu(node) }
          ["cpu #{all.sum.round}%"] if all.any?
        end

        def rate
          all = @model.nodes.filter_map { |node| @model.rate(node) }
          ["#{UI::Humanize.rate(all.sum)} done/s"] if all.any?
        end

        def lag
          lag, unknown = @model.lag
          return if lag.nil? && unknown.nil?

          lag = "lag #{UI::Humanize.count(lag)}"
          unknown ? ["#{lag}, #{unknown} unknown", :yellow] : [lag]
        end

        # The most urgent problem in as many lines as it takes, with what skep does about it and
        # what the operator can; of the others a line each.
        def notes
          lines = [[@model.problem, :red]]
          @problems.each(most: PROBLEMS, place_first: true) do |line, remedy, color|
            first = lines.one?
            lines.concat((first ? wrapped(line) : ["! #{line}"]).map { |one| [one, color] })
            lines.concat(wrapped(remedy, mark: "  ").map { |one| [one, :dim] }) if first
          end
          left = @problems.left_out(PROBLEMS)
          more = UI::Humanize.counted(left, "more problem")
          lines << ["and #{more}: skep status"] if left.positive?
          lines.select(&:first)
        end

        def wrapped(text, mark: "! ")
          pieces = UI::DisplayWidth.wrap(text, [@columns - mark.size, 1].max)
          rest = pieces.drop(FIRST_LINES - 1)
          pieces = [*pieces.first(FIRST_LINES - 1), *(rest.join(" ") if rest.any?)]
          pieces.each_with_index.map { |one, index| "#{index.zero? ? mark : "  "}#{one}" }
        end
      end
    end
  end
end
