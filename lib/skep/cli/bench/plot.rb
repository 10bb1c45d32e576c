# frozen_string_literal: true

require "skep/cli/bench/plot/canvas"
require "skep/cli/bench/plot/scale"
require "skep/cli/bench/plot/bars"
require "skep/cli/bench/plot/lines"

# A report as a picture, plain SVG: each group is a panel, of lines where its rows have an x, of
# bars else. What was skipped isn't drawn.
#
#   Plot.check("bench.svg")             # raises Misuse where that can't be written
#   Plot.new(report).write("bench.svg")
#   Plot.new(report).svg                # => String
module Skep
  module CLI
    class Bench
      class Plot
        WIDTH = 800
        MARGIN = 20
        HEAD = 64
        private_constant :MARGIN, :HEAD

        # Before minutes are spent on measuring.
        def self.check(file) #: (String) -> void
          folder = File.dirname(file)
          raise Misuse, "there is no folder #{folder} for the plot" unless File.directory?(folder)
          raise Misuse, "#{file} is a folder: name a file for the plot" if File.directory?(file)

          there = File.exist?(file) ? file : folder
          raise Misuse, "#{there} can't be written: name another plot" unless File.writable?(there)
        end

        def initialize(report) #: (Report) -> void
          @report = report
        end

        def write(file) = File.write(file, svg) #: (String) -> void

        def svg #: () -> String
          panels = self.panels
          canvas = Canvas.new(WIDTH, HEAD + panels.sum { |panel| panel.height + MARGIN })
          heading(canvas)
          panels.inject(HEAD) do |top, panel|
            panel.draw(canvas, top)
            top + panel.height + MARGIN
          end
          canvas.svg
        end

        private

        def panels
          @report.rows.groups.filter_map do |name, rows|
            rows = rows.select(&:measured?)
            next if rows.empty?
            next Bars.new(name, @report.unit, rows) unless rows.all? { |row| row.contender.x }

            Lines.new(name, @report.unit, rows, axis: @report.axes[name])
          end
        end

        def heading(canvas)
          title = "skep bench #{@report.bench}: #{@report.title}"
          canvas.text(MARGIN, 26, title, size: 17, bold: true)
          canvas.text(MARGIN, 46, Machine.line(@report.machine), size: 10, colour: Canvas::GREY)
        end
      end
    end
  end
end
