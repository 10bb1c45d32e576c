# frozen_string_literal: true

# The result of one subject: its samples by round, or the reason why there are none.
#
#   row.median; row.low; row.high         # of the first column; low and high are the quartiles
#   row.columns["PSS MiB"]                # => Spread of another one
#   row.skip("the compiler isn't there")
#   row.give_up("never within 40 s")      # it was measured without a figure
#   row.leave_out                         # it wasn't selected
module Skep
  module Benchmarks
    Spread = Struct.new(:low, :median, :high)

    class Row
      attr_reader :subject, :skipped, :samples

      def initialize(subject)
        @subject = subject
        @skipped = subject.skipped
        @samples = Hash.new { |samples, column| samples[column] = [] }
      end

      def name = subject.name
      def group = subject.group

      # Adds the figures of a round, and returns them.
      def add(figures)
        figures.each { |column, figure| @samples[column] << figure }
      end

      # Drops earlier samples: an incomplete row would look complete. Returns the sentence.
      def skip(why)
        @samples.clear
        @skipped = why
      end

      # The same, if the sentence is the result of the measurement.
      def give_up(sentence)
        @never = true
        skip(sentence)
      end

      # Returns true if it was measured, and what was expected didn't happen.
      def never? = @never || false

      def leave_out = @left_out = true
      def left_out? = @left_out || false

      # Returns the text that a table shows in place of figures.
      def reason = @never ? skipped : "skipped: #{skipped}"

      def measured? = @samples.any?

      # Returns the spreads by column, in the order of the subject.
      def columns
        @samples.transform_values { |samples| Spread.new(*Statistics.quartiles(samples)) }
      end

      # Returns the largest figure of all rounds in a column, or nil.
      def most(column) = @samples.fetch(column, []).max

      # Returns the first column's name, or the benchmark's unit if it has none.
      def unit(otherwise)
        name = columns.keys.first.to_s
        name.empty? ? otherwise : name
      end

      # Returns the spread of the first column.
      def spread = columns.values.first
      def median = spread&.median
      def low = spread&.low
      def high = spread&.high
    end

    # All rows of a run by their subject's name. `each` skips rows that are left out.
    #
    #   rows["Skep.pid"].median
    #   rows.ratio("Skep.pid", "an empty C method")   # => 1.02; nil if one of them has no figure
    #   rows.ratio(name, name, column: "PSS MiB")
    class Rows
      include Enumerable

      def initialize(subjects, reference = nil)
        twice = subjects.map(&:name).tally.select { |_, count| count > 1 }.keys
        raise ArgumentError, "named twice: #{twice.join(", ")}" if twice.any?

        @reference = reference
        @rows = subjects.to_h { |subject| [subject.name, Row.new(subject)] }
      end

      def each(&block) = @rows.values.reject(&:left_out?).each(&block)

      # Raises KeyError for an unknown name.
      def [](name) = @rows.fetch(name)

      def groups = group_by(&:group)

      # Returns the median of a column, by default the first, or nil.
      def median(name, column: nil)
        row = self[name]
        (column ? row.columns[column] : row.spread)&.median
      end

      # Returns the ratio of two medians.
      def ratio(name, other, column: nil)
        figure, base = [name, other].map { |each| median(each, column:) }
        figure.fdiv(base) if figure && base&.nonzero?
      end

      # Returns the name of the row that a row is compared with.
      def reference(row) = row.subject.against || @reference

      # Returns the ratio of a row to that one.
      def relative(row)
        other = reference(row)
        ratio(row.name, other) if other
      end
    end
  end
end
