# frozen_string_literal: true

# All rows of a run, found by their contender's name.
#
#   rows["Skep.pid"].median
#   rows.ratio("Skep.pid", "an empty C method")   # => 1.02; nil if one of them was skipped
#   rows.ratio(name, name, column: "PSS MiB")
module Skep
  module CLI
    class Bench
      class Rows
        include Enumerable

        def initialize(contenders, reference = nil) #: (Array[Contender], ?String?) -> void
          twice = contenders.map(&:name).tally.select { |_, count| count > 1 }.keys
          raise ArgumentError, "named twice: #{twice.join(", ")}" if twice.any?

          @reference = reference
          @rows = contenders.to_h { |contender| [contender.name, Row.new(contender)] }
        end

        def each(&block) = @rows.each_value(&block) #: () { (Row) -> void } -> void

        # Raises KeyError for a name that isn't there.
        def [](name) = @rows.fetch(name) #: (String) -> Row

        def groups = group_by(&:group) #: () -> Hash[String, Array[Row]]

        # The median of one column, the first if none is named; nil where there is none.
        def median(name, column: nil) #: (String, ?column: String?) -> Float?
          row = self[name]
          (column ? row.columns[column] : row.spread)&.median
        end

        # How many times as much as another, by their medians.
        def ratio(name, other, column: nil) #: (String, String, ?column: String?) -> Float?
          figure, base = [name, other].map { |each| median(each, column:) }
          figure.fdiv(base) if figure && base&.nonzero?
        end

        # The name of what a row is compared with.
        def reference(row) = row.contender.against || @reference #: (Row) -> String?

        # How many times as much as that.
        def relative(row) #: (Row) -> Float?
          other = reference(row)
          ratio(row.name, other) if other
        end
      end
    end
  end
end
