# frozen_string_literal: true

# What skep set itself, and whether this run reached it.
#
#   Goal.at_most("Skep.pid within 1.15x of an empty C method", 1.02, 1.15).met?   # => true
#   Goal.at_least("4x faster than the plain heap", nil, 4.0).met?                 # => nil, unknown
module Skep
  module CLI
    class Bench
      Goal = Struct.new(:name, :figure, :limit, :most, keyword_init: true)

      class Goal
        #: (String, Float?, Numeric) -> Goal
        def self.at_most(name, figure, limit) = new(name:, figure:, limit:, most: true)

        #: (String, Float?, Numeric) -> Goal
        def self.at_least(name, figure, limit) = new(name:, figure:, limit:, most: false)

        # By what is printed, three digits; nil when a part of it was skipped.
        def met? #: () -> bool?
          return if figure.nil?

          most ? Figures.round(figure) <= limit : Figures.round(figure) >= limit
        end

        def verdict = { true => "met", false => "missed", nil => "not measured" }.fetch(met?)

        def to_s #: () -> String
          bound = "#{most ? "at most" : "at least"} #{Figures.text(limit)}"
          "#{verdict.ljust(12)}  #{name}: #{Figures.text(figure)} (#{bound})"
        end

        def to_h #: () -> Hash[Symbol, untyped]
          { name:, figure: figure && Figures.round(figure), limit:, most:, met: met? }
        end
      end
    end
  end
end
