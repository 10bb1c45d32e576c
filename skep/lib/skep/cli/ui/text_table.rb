# frozen_string_literal: true

# Rows under a head, in columns as wide as their longest cell. nil is a dash; a column of numbers is
# aligned to the right. With `max_width` the widest columns shrink, and their cells wrap.
#
#   puts TextTable.new(%w[topic lag], [["orders", 1234], ["refunds", nil]])
#   table.to_s(max_width: 80)
#   table.to_s { |cell, row, column| … }  # styles a padded cell; row is nil for the head
module Skep
  module CLI
    module UI
      class TextTable
        GAP = "  "
        LEAST = 12 # columns that a wrapped cell has
        private_constant :GAP, :LEAST

        def initialize(head, rows)
          @numbers = head.each_index.select do |index|
            rows.all? { |row| row[index].nil? || row[index].is_a?(Numeric) }
          end
          @rows = [head, *rows].map do |row|
            row.map { |cell| cell.nil? ? Humanize::NONE : UI.clean(cell) }
          end
        end

        def to_s(max_width: nil, &style)
          widths = widths(max_width)
          @rows.map.with_index do |row, index|
            cells = row.zip(widths).map do |cell, width|
              max_width ? DisplayWidth.wrap(cell, width) : [cell]
            end
            Array.new(cells.map(&:size).max) do |line|
              texts = cells.map { |cell| cell[line].to_s }
              line(texts, widths, (index - 1 if index.positive?), &style)
            end.join("\n")
          end.join("\n")
        end

        private

        def line(texts, widths, row)
          texts.each_with_index.map do |text, column|
            text = pad(text, widths[column], column)
            block_given? ? yield(text, row, column) : text
          end.join(GAP).rstrip
        end

        def pad(text, width, column)
          DisplayWidth.public_send(@numbers.include?(column) ? :rjust : :ljust, text, width)
        end

        # Takes from the widest column until the line fits.
        def widths(max_width)
          widths = @rows.transpose.map { |cells| cells.map { |cell| DisplayWidth.of(cell) }.max }
          return widths unless max_width

          excess = widths.sum + (GAP.size * (widths.size - 1)) - max_width
          while excess.positive? && widths.max > LEAST
            widths[widths.index(widths.max)] -= 1
            excess -= 1
          end
          widths
        end
      end
    end
  end
end
