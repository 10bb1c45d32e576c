# frozen_string_literal: true

# What there is to say of the swarm as a whole, and what is wrong with it, in plain words.
#
#   Header.new(view, paint, columns: 80).lines
module Skep
  module CLI
    class Top < Command
      class Header
        SUSPECTS = 2 # that are told
        BETWEEN = "   "
        private_constant :SUSPECTS, :BETWEEN

        def initialize(view, paint, columns:) #: (View, Paint, columns: Integer) -> void
          @view = view
          @status = view.status
          @paint = paint
          @columns = columns
        end

        def lines #: () -> Array[String]
          [*flow(swarm), *flow(totals), *notes.map { |note| @paint.line([note], @columns) }]
        end

        private

        # As many of them in a line as there is room for.
        def flow(facts)
          lines = facts.compact.each_with_object([[]]) do |(text, look), all|
            text = Text.clean(text)
            used = all.last.sum { |piece, _| Text.width(piece) }
            all << [] if used.positive? && used + BETWEEN.size + Text.width(text) > @columns
            all.last << [BETWEEN] if all.last.any?
            all.last << [text, look]
          end
          lines.map { |pieces| @paint.line(pieces, @columns) }
        end

        def swarm
          state = @status["state"]
          [[@status["name"], :bold], [state, state == "running" ? :green : :yellow],
           ["up #{Figures.seconds(@status["uptime"])}"], [nodes], ["pid #{@status["pid"]}"],
           ["skep #{@status["skep"]} (ruby #{@status["ruby"]})"]]
        end

        def nodes
          states = @view.nodes.group_by { |node| node["state"] }.transform_values(&:size)
          told = states.sort_by { |state, count| [state == "ready" ? 0 : 1, -count] }
          told.map { |state, count| "#{count} #{state}" }.join(", ")
        end

        def totals
          [cpu, ["memory #{sum("uss")} of the nodes' own"],
           own && ["#{Figures.bytes(own)} of the supervisor"], rate, lag,
           ["restarts #{@view.slots.sum { |node| node["restarts"].to_i }}"]]
        end

        def own = @view.figures.memory

        def cpu
          all = @view.figures.cpu.values.compact
          ["cpu #{all.sum.round}%"] if all.any?
        end

        def rate
          all = @view.figures.rate.values.compact
          ["#{Figures.rate(all.sum)} done/s"] if all.any?
        end

        def lag
          all = @view.nodes.filter_map { |node| node["work"]["lag"] }.grep(Numeric)
          ["lag #{Figures.count(all.sum)}"] if all.any?
        end

        def sum(kind) = Figures.bytes(@view.nodes.sum { |node| node["memory"].to_h[kind].to_i })

        def notes
          [[@view.trouble, :red], *loops.map { |note| [note, :red] },
           *suspects.map { |note| [note, :yellow] },
           *ailments.map { |note| [note, :yellow] }].select(&:first)
        end

        def loops
          ids = @view.nodes.select { |node| node["crash_loop"] }.map { |node| node["id"] }
          return [] if ids.empty?

          ["crash loop: node #{ids.first(8).join(", ")}#{" and more" if ids.size > 8} died again " \
           "and again, and waits longer each time"]
        end

        def suspects
          all = @status["suspects"].to_a.sort_by { |one| [-one["alone"], -one["crashes"]] }
          told = all.first(SUSPECTS).map do |one|
            "suspect: #{Text.clean(one["in_hand"])} was in hand at #{one["crashes"]} crashes, " \
              "alone at #{one["alone"]}"
          end
          all.size > SUSPECTS ? [*told, "and #{all.size - SUSPECTS} suspects more"] : told
        end

        def ailments
          sick = @view.nodes.select { |node| node["unhealthy"] }
          sick.first(1).map do |node|
            "unhealthy: node #{node["id"]} says: #{Text.clean(node["unhealthy"])}" \
              "#{" (and #{sick.size - 1} more)" if sick.size > 1}"
          end
        end
      end
      private_constant :Header
    end
  end
end
