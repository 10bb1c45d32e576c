# frozen_string_literal: true

# The results of a benchmark.
#
#   report.to_json             # one line
#   report.lines               # a table for people
#   Report.parse(json)         # a report again, without its derived figures
#   report.ruby                # => "3.3-yjit"
module Skep
  module Benchmarks
    Report = Struct.new(:benchmark, :title, :unit, :rounds, :date, :machine, :versions, :rows,
                        :goals, :derived, keyword_init: true)

    class Report
      class << self
        def parse(text)
          facts = JSON.parse(text, symbolize_names: true)
          goals = facts[:goals].map { |goal| Goal.new(**goal.slice(:name, :figure, :limit, :most)) }
          new(**facts.slice(:benchmark, :title, :unit, :rounds, :date), rows: rows(facts[:rows]),
              machine: facts[:machine].transform_keys(&:to_s),
              versions: facts[:versions].transform_keys(&:to_s), goals:, derived: [])
        end

        private

        def rows(all)
          subjects = all.map do |row|
            Subject.new(row[:name], **row.slice(:group, :against, :settings, :version)) { nil }
          end
          Rows.new(subjects).tap { |rows| all.each { |row| restore(rows[row[:name]], row) } }
        end

        def restore(row, facts)
          row.public_send(facts[:never] ? :give_up : :skip, facts[:skipped]) if facts[:skipped]
          facts[:samples].each { |column, all| all.each { |each| row.add(column.to_s => each) } }
        end
      end

      def to_json(*) = JSON.generate(to_h)

      def to_h
        { **super.except(:rows), rows: rows.map { |row| plain(row) }, goals: goals.map(&:to_h),
          derived: derived.map(&:to_h) }
      end

      def lines = Table.new(self).lines

      # Returns the Ruby's series, and whether YJIT was on.
      def ruby
        text = machine.fetch("ruby")
        "#{text[/\d+\.\d+/]}#{"-yjit" if text.end_with?("YJIT on")}"
      end

      private

      def plain(row)
        first, *more = row.columns.to_a
        more = more.to_h { |column, spread| [column, figures(spread)] }
        { **row.subject.to_h, against: rows.reference(row), unit: row.unit(unit),
          samples: row.samples.transform_values { |all| all.map { |each| exact(each) } },
          **figures(first&.last), ratio: rounded(rows.relative(row)), skipped: row.skipped,
          never: row.never?, more: }
      end

      # Returns enough digits to calculate with.
      def exact(sample) = sample.is_a?(Float) ? sample.round(6).to_f : sample

      def figures(spread)
        %i[median low high].to_h { |name| [name, rounded(spread&.public_send(name))] }
      end

      def rounded(value) = value && Figures.round(value)
    end

    # A report as lines of text: a table for each group, derived figures, goals.
    class Table
      def initialize(report)
        @report = report
      end

      def lines
        groups = @report.rows.groups.flat_map { |name, rows| group(name, rows) }
        [*heading, *groups, *list("what follows", @report.derived),
         *list("goals", @report.goals)].map(&:rstrip)
      end

      private

      def heading
        times = @report.rounds == 1 ? "1 round" : "#{@report.rounds} rounds in random order"
        ["bin/bench #{@report.benchmark}: #{@report.title}", Machine.line(@report.machine),
         @report.versions.map { |name, version| "#{name} #{version}" }.join(", "),
         "#{times}; medians, the quartiles beside them"]
      end

      def group(name, rows)
        more = rows.flat_map { |row| row.columns.keys.drop(1) }.uniq
        cells = [headings(name, rows, more), *rows.map { |row| cells(row, more) }]
        whole = cells.select { |line| line.size > 2 } # a skip reason takes the rest of its line
        names = cells.map { |line| line.first.size }.max
        widths = whole.transpose.drop(1).map { |column| column.map(&:size).max }
        ["", *cells.map { |first, *rest| "#{first.ljust(names)}  #{line(rest, widths)}" }]
      end

      def line(cells, widths)
        return cells.first if cells.size == 1

        cells.zip(widths).map { |cell, width| cell.rjust(width) }.join("  ")
      end

      def headings(name, rows, more)
        measured = rows.find(&:measured?)
        [name, measured ? measured.unit(@report.unit) : "", "quartiles", times(rows), *more]
      end

      # Returns the reference of a group's ratios, if all have the same.
      def times(rows)
        others = rows.select(&:measured?).map { |row| @report.rows.reference(row) }.uniq
        others.size == 1 ? "x #{others.first}".strip : "x"
      end

      def cells(row, more)
        return ["  #{row.name}", row.reason] unless row.measured?

        ratio = @report.rows.relative(row)
        quartiles = [row.low, row.high].map { |figure| Figures.text(figure) }.join("..")
        ["  #{row.name}", Figures.text(row.median), quartiles,
         ratio ? format("%.2f", ratio) : "",
         *more.map { |column| Figures.text(row.columns[column]&.median) }]
      end

      def list(title, entries)
        entries.any? ? ["", title, *entries.map { |entry| "  #{entry}" }] : []
      end
    end
  end
end
