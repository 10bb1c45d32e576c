# frozen_string_literal: true

# A goal of skep, and whether this run met it.
#
#   Goal.at_most("Skep.pid within 1.15x of an empty C method", 1.02, 1.15).met?   # => true
#   Goal.at_least("4x faster than the plain heap", nil, 4.0).met?                 # => nil, unknown
module Skep
  module Benchmarks
    Goal = Struct.new(:name, :figure, :limit, :most, keyword_init: true)

    class Goal
      def self.at_most(name, figure, limit) = new(name:, figure:, limit:, most: true)
      def self.at_least(name, figure, limit) = new(name:, figure:, limit:, most: false)

      # Compares the printed figures with three digits. Returns nil if one wasn't measured.
      def met?
        return if figure.nil?

        most ? Figures.round(figure) <= limit : Figures.round(figure) >= limit
      end

      def verdict = { true => "met", false => "missed", nil => "not measured" }.fetch(met?)

      def to_s
        bound = "#{most ? "at most" : "at least"} #{Figures.text(limit)}"
        "#{verdict.ljust(12)}  #{name}: #{Figures.text(figure)} (#{bound})"
      end

      def to_h = { name:, figure: figure && Figures.round(figure), limit:, most:, met: met? }
    end

    # A figure computed from several rows, such as the slope of a line through them.
    #
    #   DerivedFigure.new(name: "each mapping", figure: 0.31, unit: "µs", note: "R² 0.998")
    DerivedFigure = Struct.new(:name, :figure, :unit, :note, keyword_init: true)

    class DerivedFigure
      def to_s = "#{name}: #{Figures.text(figure)} #{unit}#{" (#{note})" if note}"
      def to_h = { name:, figure: figure && Figures.round(figure), unit:, note: }
    end
  end
end
