# frozen_string_literal: true

require "fileutils"

# The results that are committed, one file for each benchmark and Ruby, and the tables in README and
# docs that are made from them.
#
#   Results.save(report, busy: [1.5, 0.9])   # => "benchmark/results/kafka-3.4.json"
#   Results.write                            # => the pages that changed
#   Results.tables("README.md")              # => the page's text, with tables of these results
#
# A page has markers. All tables of a benchmark, or one table of the rows that are named:
#
#   <!-- results: recovery -->
#   <!-- /results -->
#   <!-- results: kafka | skep | Karafka, tuned -->
#   <!-- /results -->
#
# What is between the markers of a benchmark without results is left as it is.
module Skep
  module Benchmarks
    module Results
      ROOT = File.expand_path("../..", __dir__)
      FOLDER = "benchmark/results"
      PAGES = %w[README.md docs/articles/benchmarks.md docs/guarantees.md].freeze
      BLOCK = /^<!-- results: (\w+)((?: \| [^|\n]+?)*) -->\n\K.*?(?=^<!-- \/results -->$)/m
      private_constant :BLOCK

      class << self
        # busy: the percentage of the processors that others used before the run and after it.
        def save(report, busy:, root: ROOT)
          path = "#{FOLDER}/#{report.benchmark}-#{report.ruby}.json"
          FileUtils.mkdir_p(File.dirname(File.join(root, path)))
          File.write(File.join(root, path), pretty({ **report.to_h, busy: }))
          path
        end

        def write(root: ROOT)
          PAGES.select do |page|
            path = File.join(root, page)
            text = tables(page, root:)
            File.write(path, text) unless text == File.read(path, encoding: "UTF-8")
          end
        end

        def tables(page, root: ROOT)
          File.read(File.join(root, page), encoding: "UTF-8").gsub(BLOCK) do |before|
            name, rows = $1, $2.split(" | ").drop(1).map(&:strip)
            files = Dir.glob("#{FOLDER}/#{name}-*.json", base: root).sort
            next before if files.empty?

            up = "../" * page.count("/")
            reports = files.to_h { |file| ["#{up}#{file}", parsed(File.join(root, file))] }
            ResultTables.new(reports, rows).text
          end
        end

        private

        def parsed(path) = Report.parse(File.read(path, encoding: "UTF-8"))

        # A line for each row: changes are seen in a diff.
        def pretty(facts)
          lines = facts.map { |name, value| "#{JSON.generate(name)}: #{several_lines(value)}" }
          "{\n#{lines.join(",\n")}\n}\n"
        end

        def several_lines(value)
          return JSON.generate(value) unless value.is_a?(Array) && value.first.is_a?(Hash)

          "[\n#{value.map { |each| JSON.generate(each) }.join(",\n")}\n]"
        end
      end
    end

    # Reports of one benchmark on several Rubies, as Markdown.
    class ResultTables
      # reports: by their link. rows: the names of those to show in one table, by default all.
      def initialize(reports, rows)
        @reports, @names = reports, rows
      end

      def text = ["", *sources, "", *tables.flat_map { |table| [*table, ""] }].join("\n") + "\n"

      private

      def sources
        @reports.map do |link, report|
          versions = report.versions.map { |name, version| "#{name} #{version}" }.join(", ")
          missed = report.goals.reject(&:met?).map { |goal| goal.name.tr("|", "/") }
          more = "; goals missed: #{missed.join("; ")}" if missed.any? && @names.empty?
          "- [#{title(report)}](#{link}): #{report.date}, medians of #{report.rounds} rounds, " \
            "quartiles in brackets; #{versions}; #{Machine.line(report.machine)}#{more}"
        end
      end

      def title(report)
        ruby, yjit = report.ruby.split("-")
        "Ruby #{ruby}#{" with YJIT" if yjit}"
      end

      def tables
        return [table(first.unit, @names)] if @names.any?

        all = @reports.values.flat_map { |report| report.rows.to_a }
        all.group_by(&:group).map do |group, rows|
          unit = rows.first.unit(first.unit)
          head = [group, unit].reject(&:empty?).uniq.join(": ")
          table(group.include?(": #{unit} ") ? group : head, rows.map(&:name).uniq)
        end
      end

      def first = @reports.values.first

      def table(head, names)
        unknown = names.reject { |name| @reports.each_value.any? { |report| row(report, name) } }
        raise Failed, "no results have the row #{unknown.first}" if unknown.any?

        [line([head, *@reports.values.map { |report| title(report) }]),
         line(["---"] * (@reports.size + 1)),
         *names.map { |name| line([name, *@reports.values.map { |report| cell(report, name) }]) }]
      end

      def line(cells) = "| #{cells.map { |each| each.gsub("|", "\\|") }.join(" | ")} |"

      def row(report, name) = report.rows.find { |each| each.name == name }

      def cell(report, name)
        row = row(report, name) or return "–"
        return row.reason unless row.measured?

        low, high = [row.low, row.high].map { |figure| Figures.text(figure) }
        spread = " (#{low}–#{high})" unless low == high
        "#{Figures.text(row.median)}#{spread}#{more(row) if @names.empty?}"
      end

      # The other columns' medians.
      def more(row)
        row.columns.drop(1).map { |name, spread| "; #{name} #{Figures.text(spread.median)}" }.join
      end
    end
  end
end
