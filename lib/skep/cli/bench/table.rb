# frozen_string_literal: true

# A report as lines for people.
#
#   Table.new(report, columns: 120).lines   # with bars where the terminal has room for them
#   Table.new(report, columns: nil).lines   # without
module Skep
  module CLI
    class Bench
      class Table
        LEAST_BAR = 10 # narrower says nothing
        private_constant :LEAST_BAR

        #: (Report, ?columns: Integer?, ?unicode: bool) -> void
        def initialize(report, columns: nil, unicode: Encoding.find("locale") == Encoding::UTF_8)
          @report = report
          @columns = columns
          @full = unicode ? "█" : "#"
        end

        def lines #: () -> Array[String]
          groups = @report.rows.groups.flat_map { |name, rows| group(name, rows) }
          [*heading, *groups, *list("what follows", @report.findings),
           *list("goals", @report.goals)].map(&:rstrip)
        end

        private

        def heading
          times = @report.rounds == 1 ? "1 round" : "#{@report.rounds} rounds in random order"
          ["skep bench #{@report.bench}: #{@report.title}", Machine.line(@report.machine),
           @report.versions.map { |name, version| "#{name} #{version}" }.join(", "),
           "#{times}; medians, the quartiles beside them"]
        end

        def group(name, rows)
          more = rows.flat_map { |row| row.columns.keys.drop(1) }.uniq
          cells = [headings(name, rows, more), *rows.map { |row| cells(row, more) }]
          widths = widths(cells)
          ["", *cells.zip([nil, *rows]).map { |line, row| line(line, row, widths, rows) }]
        end

        def headings(name, rows, more)
          measured = rows.find(&:measured?)
          unit = measured ? measured.unit(@report.unit) : ""
          [name, unit, "quartiles", times(rows), *more]
        end

        # What the ratios of a group refer to, if that is one and the same.
        def times(rows)
          others = rows.select(&:measured?).map { |row| @report.rows.reference(row) }.uniq
          others.size == 1 ? "x #{others.first}".strip : "x"
        end

        def cells(row, more)
          return ["  #{row.name}", row.excuse] unless row.measured?

          ratio = @report.rows.relative(row)
          quartiles = [row.low, row.high].map { |figure| Figures.text(figure) }.join("..")
          ["  #{row.name}", Figures.text(row.median), quartiles,
           ratio ? format("%.2f", ratio) : "",
           *more.map { |column| Figures.text(row.columns[column]&.median) }]
        end

        # A skipped row has its say from the second column on.
        def widths(cells)
          whole = cells.select { |line| line.size > 2 }
          names = cells.map { |line| line.first.size }.max
          rest = (1...whole.map(&:size).max).map do |index|
            whole.map { |line| line[index].to_s.size }.max
          end
          [names, *rest]
        end

        def line(cells, row, widths, rows)
          return "#{cells.first.ljust(widths.first)}  #{cells.last}" if cells.size == 2

          text = cells.zip(widths).map.with_index do |(cell, width), index|
            index.zero? ? cell.ljust(width) : cell.rjust(width)
          end.join("  ")
          "#{text}#{"  #{bar(row, rows, text.size)}" if row}"
        end

        def bar(row, rows, used)
          room = @columns.to_i - used - 3
          return if room < LEAST_BAR

          most = rows.filter_map(&:median).max
          @full * (most.positive? ? (row.median / most * room).round.clamp(0, room) : 0)
        end

        def list(title, entries)
          entries.any? ? ["", title, *entries.map { |entry| "  #{entry}" }] : []
        end
      end
    end
  end
end
