# frozen_string_literal: true

# What is on the screen: a View and a size make lines, of that size at most.
#
#   frame = Frame.new(Paint.new(colours: true))
#   frame.lines(view, rows: 24, columns: 80)
#   frame.plain(view, columns: 160)      # the same without a screen: as long as it has to be
module Skep
  module CLI
    class Top < Command
      class Frame
        KEYS = "q quit  ? help  r renew  R all  +/- scale  b backtraces  Q quiet  s stop"
        NEWS = 4 # lines that events have at the least, title included
        private_constant :KEYS, :NEWS

        def initialize(paint) #: (Paint) -> void
          @paint = paint
        end

        #: (View, rows: Integer, columns: Integer) -> Array[String]
        def lines(view, rows:, columns:)
          columns -= 1 # the last one is left alone: what is behind a line is erased from there
          body = view.panel ? panel(view.panel, rows - 1, columns) : body(view, rows - 1, columns)
          body = body.first(rows - 1)
          [*body, *[""] * (rows - 1 - body.size), footer(view, columns)].last(rows)
        end

        def plain(view, columns:) #: (View, columns: Integer) -> Array[String]
          table = Table.new(view, @paint, columns:, marked: false)
          [*Header.new(view, @paint, columns:).lines, table.head, *table.rows(0..)].map(&:rstrip)
        end

        private

        def body(view, rows, columns)
          header = Header.new(view, @paint, columns:).lines
          left = rows - header.size - 3 # blank lines, the table's head
          shown = window(view, (left - NEWS).clamp(1, [view.nodes.size, 1].max))
          table = Table.new(view, @paint, columns:)
          [*header, "", table.head, *table.rows(shown), rule(view, shown, columns),
           *news(view, left - shown.size, columns)]
        end

        # Those nodes that there is room for, the selected one among them.
        def window(view, room)
          first = (@first || 0).clamp([view.index - room + 1, 0].max, view.index)
          @first = [first, [view.nodes.size - room, 0].max].min
          @first...(@first + room)
        end

        def rule(view, shown, columns)
          all = view.nodes.size
          return "" if shown.size >= all

          part = "nodes #{shown.first + 1} to #{shown.last + 1} of #{all}"
          @paint.line([["  #{part}", :dim]], columns)
        end

        def news(view, rows, columns)
          return [] if rows < 2

          told = view.events.last(rows - 1)
          [@paint.line([["events (UTC)", :bold]], columns),
           *told.map { |event| @paint.line(News.line(event), columns) }]
        end

        def panel(panel, rows, columns)
          [@paint.line([[panel.title, :bold]], columns), "",
           *panel.lines(rows - 2).map { |line| @paint.line([[line]], columns) }]
        end

        def footer(view, columns)
          piece = [view.prompt && "#{view.prompt} y/n", :yellow] if view.prompt
          piece ||= ["any other key goes back; up and down scroll", :dim] if view.panel
          piece ||= view.message ? [Text.clean(view.message), :cyan] : [KEYS, :dim]
          @paint.line([piece], columns)
        end
      end
      private_constant :Frame
    end
  end
end
