# frozen_string_literal: true

# How wide columns are in the room there is. The least wanted go first; what room is left goes to
# those that can use it, the most wanted first.
#
#   Layout.widths([Layout::Column.new(4, 4, 0), Layout::Column.new(8, 24, 2)], 80, gap: 2)
#   # => [4, 24]; nil for one that is left out
module Skep
  module CLI
    class Top < Command
      module Layout
        Column = Struct.new(:least, :most, :rank) # rank 0: never left out

        module_function

        #: (Array[Column], Integer, gap: Integer) -> Array[Integer?]
        def widths(columns, room, gap:)
          kept = fitting(columns, room, gap).sort_by { |index| columns[index].rank }
          spare = [room - needed(columns.values_at(*kept), gap), 0].max
          widths = Array.new(columns.size)
          kept.each do |index|
            widths[index] = columns[index].least
            more = [columns[index].most - columns[index].least, spare].min
            widths[index] += more
            spare -= more
          end
          widths
        end

        # Which of them, by their places.
        def fitting(columns, room, gap)
          kept = columns.each_index.select { |index| columns[index].most.positive? }
          while needed(columns.values_at(*kept), gap) > room
            last = kept.max_by { |index| columns[index].rank }
            break if columns[last].rank.zero?

            kept.delete(last)
          end
          kept
        end

        def needed(columns, gap) = columns.sum { |column| column.least + gap } - gap
      end
      private_constant :Layout
    end
  end
end
