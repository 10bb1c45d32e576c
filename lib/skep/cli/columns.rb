# frozen_string_literal: true

require "skep/cli/text"

# Rows under a head, in columns as wide as they have to be; what is nil is a dash. Numbers stand to
# the right. What others have named is shown as it is spelt, and moves no cursor.
#
#   puts Columns.new(%w[topic lag], [["orders", 1234], ["refunds", nil]])
#   columns.to_s { |cell, row, column| … }    # each as wide as it is, to be painted; nil: the head
module Skep
  module CLI
    class Columns
      GAP = "  "
      private_constant :GAP

      #: (Array[String], Array[Array[untyped]]) -> void
      def initialize(head, rows)
        @numbers = head.each_index.select do |index|
          rows.all? { |row| row[index].nil? || row[index].is_a?(Numeric) }
        end
        @rows = [head, *rows].map do |row|
          row.map { |cell| cell.nil? ? "-" : Text.clean(cell) }
        end
      end

      def to_s #: () ?{ (String, Integer?, Integer) -> String } -> String
        widths = @rows.transpose.map { |column| column.map { |cell| Text.width(cell) }.max }
        @rows.map.with_index do |row, index|
          cells = set(row, widths)
          cells = cells.map.with_index { |cell, at| yield cell, place(index), at } if block_given?
          cells.join(GAP).rstrip
        end.join("\n")
      end

      private

      def place(index) = (index - 1 if index.positive?)

      def set(row, widths)
        row.zip(widths).map.with_index do |(cell, width), index|
          @numbers.include?(index) ? Text.rjust(cell, width) : Text.ljust(cell, width)
        end
      end
    end
  end
end
