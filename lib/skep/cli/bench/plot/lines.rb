# frozen_string_literal: true

# A panel of lines: medians over a quantity, one line a series, its name at its right end.
module Skep
  module CLI
    class Bench
      class Plot
        class Lines
          LEFT = 80
          RIGHT = 610
          TOP = 30
          BOTTOM = 250
          HEIGHT = 292
          LEGEND_ROW = 16
          private_constant :LEFT, :RIGHT, :TOP, :BOTTOM, :HEIGHT, :LEGEND_ROW

          #: (String, String, Array[Row], ?axis: String?) -> void
          def initialize(title, unit, rows, axis: nil)
            @title = [title, rows.first.unit(unit)].reject(&:empty?).join(", ")
            @rows = rows
            @axis = axis.to_s
          end

          def height = HEIGHT #: () -> Integer

          def draw(canvas, top) #: (Canvas, Integer) -> void
            @x = Scale.new(@rows.map { |row| row.contender.x }.max, from: LEFT, to: RIGHT)
            @y = Scale.new(@rows.map(&:median).max, from: top + BOTTOM, to: top + TOP)
            canvas.text(20, top + 14, @title, bold: true)
            axes(canvas, top)
            series.zip(Canvas::COLOURS.cycle).each do |(name, rows), colour|
              curve(canvas, rows, colour)
              canvas.text(RIGHT + 14, legend(name, top), name, colour:)
            end
          end

          private

          def series = @rows.group_by { |row| row.contender.series.to_s }

          def axes(canvas, top)
            @y.ticks.each do |tick|
              canvas.line([[LEFT, @y.at(tick)], [RIGHT, @y.at(tick)]], colour: "#dddddd")
              canvas.text(LEFT - 8, @y.at(tick) + 4, Figures.text(tick), anchor: :end, size: 11)
            end
            @x.ticks.each do |tick|
              canvas.text(@x.at(tick), top + BOTTOM + 16, Figures.text(tick), anchor: :middle,
                                                                              size: 11)
            end
            canvas.text((LEFT + RIGHT) / 2, top + BOTTOM + 34, @axis, anchor: :middle, size: 11)
          end

          def curve(canvas, rows, colour)
            points = rows.map { |row| [@x.at(row.contender.x), @y.at(row.median)] }.sort
            canvas.line(points, colour:, width: 2)
            points.each { |x, y| canvas.dot(x, y, colour:) }
          end

          # Beside the line's end, below the name before where that is too near.
          def legend(name, top)
            order = series.sort_by { |_, rows| -last(rows).median }.map(&:first)
            order.inject(top) do |above, each|
              here = [@y.at(last(series[each]).median) + 4, above + LEGEND_ROW].max
              return here if each == name

              here
            end
          end

          def last(rows) = rows.max_by { |row| row.contender.x }
        end
        private_constant :Lines
      end
    end
  end
end
