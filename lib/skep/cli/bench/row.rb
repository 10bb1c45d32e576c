# frozen_string_literal: true

# What came of one contender: its samples, round by round, or why there are none.
#
#   row.median; row.low; row.high         # of the first column; low and high are the quartiles
#   row.columns["PSS MiB"]                # => Spread of another one
#   row.skip("the compiler isn't there")
#   row.give_up("never within 40 s")      # it was measured, and there is no figure to it
module Skep
  module CLI
    class Bench
      Spread = Struct.new(:low, :median, :high)

      class Row
        attr_reader :contender #: Contender
        attr_reader :skipped #: String?

        def initialize(contender) #: (Contender) -> void
          @contender = contender
          @skipped = contender.skipped
          @samples = Hash.new { |samples, column| samples[column] = [] }
        end

        def name = contender.name #: () -> String
        def group = contender.group #: () -> String

        # Takes one round's figures in.
        def add(figures) #: (Hash[String, Float]) -> void
          figures.each { |column, figure| @samples[column] << figure }
        end

        # What was measured before is dropped: half a row would pass for a whole one.
        def skip(why) #: (String) -> void
          @skipped = why
          @samples.clear
        end

        # The same, where the sentence is what was found out.
        def give_up(sentence) #: (String) -> void
          skip(sentence)
          @never = true
        end

        # What a table says in place of figures.
        def excuse = @never ? skipped : "skipped: #{skipped}" #: () -> String

        def measured? = @samples.any? #: () -> bool

        # By column, in the order in which the contender gave them.
        def columns #: () -> Hash[String, Spread]
          @samples.transform_values { |samples| Spread.new(*Statistics.quartiles(samples)) }
        end

        # The largest figure of all rounds in a column; nil where there is none.
        def most(column) = @samples.fetch(column, []).max #: (String) -> Float?

        # What the first column holds: its name, or the contest's unit where it has none.
        def unit(otherwise) #: (String) -> String
          name = columns.keys.first.to_s
          name.empty? ? otherwise : name
        end

        # The first column's.
        def spread = columns.values.first #: () -> Spread?
        def median = spread&.median #: () -> Float?
        def low = spread&.low #: () -> Float?
        def high = spread&.high #: () -> Float?
      end
    end
  end
end
