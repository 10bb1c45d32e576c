# frozen_string_literal: true

module Skep
  module CLI
    module Top
      # An event as a line: the time (UTC, as in the log), its name and its facts, in pieces for
      # Styler.
      module EventLine
        STYLES = { "warn" => :yellow, "error" => :red }.freeze
        CLOCK = 11..18
        NAME = 22 # columns of a name that isn't longer
        private_constant :STYLES, :CLOCK, :NAME

        module_function

        def pieces(event)
          return [["#{event}", :yellow]] if event.is_a?(Control::EventGap)

          name = UI::DisplayWidth.ljust(UI.clean(event["event"]), NAME)
          [["#{UI.clean(event["time"].to_s[CLOCK])} ", :dim], ["#{name} ", STYLES[event["level"]]],
           [UI.clean(Control::EventText.words(event).join(" "))]]
        end
      end

      # The lines on the screen, of a Model and a size.
      #
      #   renderer = Renderer.new(Styler.new(color: true))
      #   renderer.lines(model, rows: 24, columns: 80)
      #   renderer.plain(model, columns: 160)   # the same without a screen: as many rows as needed
      class Renderer
        KEYS = "q quit  ? help  r restart node  R all  +/- scale  b backtraces  Q quiet  s stop"
        EVENT_LINES = 4 # at least, with the title
        private_constant :KEYS, :EVENT_LINES

        def initialize(styler)
          @styler = styler
        end

        def lines(model, rows:, columns:)
          columns -= 1 # the last column stays empty: the rest of a line is erased from there
          room = rows - 1
          body = model.pager ? pager(model.pager, room, columns) : body(model, room, columns)
          body = body.first(room)
          [*body, *[""] * (room - body.size), footer(model, columns)].last(rows)
        end

        def plain(model, columns:)
          table = NodeTable.new(model, @styler, columns:, marked: false)
          header = Header.new(model, @styler, columns:)
          [*header.lines, table.head, *table.rows(0..)].map(&:rstrip)
        end

        private

        def body(model, rows, columns)
          header = Header.new(model, @styler, columns:).lines
          left = rows - header.size - 3 # two blank lines and the table's head
          shown = window(model, (left - EVENT_LINES).clamp(1, [model.nodes.size, 1].max))
          table = NodeTable.new(model, @styler, columns:)
          [*header, "", table.head, *table.rows(shown), range(model, shown, columns),
           *events(model, left - shown.size, columns)]
        end

        # The nodes that there is room for, with the selected one among them.
        def window(model, room)
          first = (@first || 0).clamp([model.index - room + 1, 0].max, model.index)
          @first = [first, [model.nodes.size - room, 0].max].min
          @first...(@first + room)
        end

        def range(model, shown, columns)
          all = model.nodes.size
          return "" if shown.size >= all

          part = "nodes #{shown.first + 1} to #{shown.last + 1} of #{all}"
          @styler.line([["  #{part}", :dim]], columns)
        end

        def events(model, rows, columns)
          return [] if rows < 2

          lines = model.events.last(rows - 1).map do |event|
            @styler.line(EventLine.pieces(event), columns)
          end
          [@styler.line([["events (UTC)", :bold]], columns), *lines]
        end

        def pager(pager, rows, columns)
          [@styler.line([[pager.title, :bold]], columns), "",
           *pager.lines(rows - 2).map { |line| @styler.line([[line]], columns) }]
        end

        def footer(model, columns)
          @styler.line([footer_piece(model)], columns)
        end

        def footer_piece(model)
          return ["#{model.prompt} y/n", :yellow] if model.prompt
          return ["up and down scroll; any other key goes back", :dim] if model.pager

          model.message ? [UI.clean(model.message), :cyan] : [KEYS, :dim]
        end
      end
    end
  end
end
