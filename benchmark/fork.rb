# frozen_string_literal: true

require "tmpdir"
require_relative "fork/in_c"
require_relative "fork/in_ruby"

# `bin/bench fork`: microseconds from a fork to the end of a child that does nothing, in C and in
# Ruby, and what increases them: mappings, memory, libraries, objects, callbacks.
module Skep
  module Benchmarks
    class Fork < Benchmark
      TITLE = "what a fork costs, and what makes it cost more"
      UNIT = "µs"
      ROUNDS = 5
      SIZES = { milliseconds: 300, million: 1_000_000 }.freeze
      EACH = { InC::MAPPED => "each mapping, with a page of it written to",
               InC::RESIDENT => "each MiB written to",
               InC::LINKED => "each shared library",
               InRuby::HEAP => "each million live objects" }.freeze
      private_constant :EACH

      def subjects
        milliseconds, million = %i[milliseconds million].map { |name| size(name) }
        InC.new(Tax.new(@folder, milliseconds: milliseconds / 2)).subjects +
          InRuby.new(milliseconds:, million:).subjects
      end

      def goals(rows)
        plain, warmed = InRuby.plain(4), InRuby.warmed(4)
        [Goal.at_most("a fork of 4 million warmed objects within 2x of a bare Ruby's",
                      rows.ratio(warmed, InRuby::BARE), 2),
         Goal.at_least("the same at least 4x faster than with a plain heap",
                       rows.ratio(plain, warmed), 4),
         Goal.at_most("100 callbacks of any moment add at most 20 µs", dearest(rows), 20)]
      end

      # Returns the slopes of lines through the medians.
      def derived(rows)
        EACH.flat_map do |group, name|
          measured = rows.groups.fetch(group, []).select(&:measured?)
          measured.group_by { |row| row.subject.series }.filter_map do |series, some|
            slope([name, series].compact.join(", "), some) if some.size > 2
          end
        end
      end

      def around = Dir.mktmpdir("skep-bench-") { |folder| (@folder = folder) && yield }

      private

      def dearest(rows)
        InRuby::CALLBACKS.keys.grep(/callbacks/).filter_map { |name| rows.median(name) }.max
      end

      def slope(name, rows)
        line = Statistics.line(rows.map { |row| [row.subject.x, row.median] })
        DerivedFigure.new(name:, figure: line.slope, unit: self.class::UNIT,
                    note: "slope of #{rows.size} points, R² #{format("%.3f", line.r2)}")
      end
    end
  end
end
