# frozen_string_literal: true

# A panel of horizontal bars, medians, with a thin line from quartile to quartile.
module Skep
  module CLI
    class Bench
      class Plot
        class Bars
          RIGHT = 700 # the longest bar; its figure stands beyond
          TOP = 26
          ROW = 22
          LETTER = 6.6 # pixels, about
          private_constant :RIGHT, :TOP, :ROW, :LETTER

          def initialize(title, unit, rows) #: (String, String, Array[Row]) -> void
            @title = [title, rows.first.unit(unit)].reject(&:empty?).join(", ")
            @rows = rows
            @left = 40 + (rows.map { |row| row.name.size }.max * LETTER).round # names end here
          end

          def height = TOP + ROW * @rows.size #: () -> Integer

          def draw(canvas, top) #: (Canvas, Integer) -> void
            canvas.text(20, top + 14, @title, bold: true)
            scale = Scale.new(@rows.map(&:high).max, from: @left, to: RIGHT)
            @rows.each.with_index { |row, index| bar(canvas, scale, row, top + TOP + index * ROW) }
          end

          private

          def bar(canvas, scale, row, y)
            middle = y + ROW / 2
            canvas.text(@left - 8, middle + 4, row.name, anchor: :end)
            width = [scale.at(row.median) - @left, 0].max # a difference may be less than nothing
            canvas.rectangle(@left, y + 3, width, ROW - 6, colour: Canvas::COLOURS.first)
            canvas.line([[scale.at(row.low), middle], [scale.at(row.high), middle]],
                        colour: Canvas::INK, width: 1.5)
            canvas.text(scale.at(row.high) + 6, middle + 4,
                        Figures.text(row.median), colour: Canvas::GREY)
          end
        end
        private_constant :Bars
      end
    end
  end
end
