# frozen_string_literal: true

# All that a bench found out: what Table prints, Plot draws and `--json` shows.
module Skep
  module CLI
    class Bench
      Report = Struct.new(:bench, :title, :unit, :rounds, :machine, :versions, :rows, :goals,
                          :findings, :axes, keyword_init: true)

      class Report
        def to_json(*) #: () -> String
          JSON.generate({ bench:, title:, machine:, versions:, unit:, rounds:,
                          rows: rows.map { |row| plain(row) }, goals: goals.map(&:to_h),
                          findings: findings.map(&:to_h) })
        end

        private

        def plain(row)
          first, *more = row.columns.to_a
          more = more.to_h { |column, spread| [column, figures(spread)] }
          { name: row.name, group: row.group, unit: row.unit(unit), **figures(first&.last),
            ratio: rounded(rows.relative(row)), skipped: row.skipped, more: }
        end

        def figures(spread)
          %i[median low high].to_h { |name| [name, rounded(spread&.public_send(name))] }
        end

        def rounded(value) = value && Figures.round(value)
      end
    end
  end
end
