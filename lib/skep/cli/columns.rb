# frozen_string_literal: true

require "skep/cli/text"

# Rows under a head, in columns as wide as they have to be; what is nil is a dash. Numbers stand to
# the right. What others have named is shown as it is spelt, and moves no cursor.
#
#   puts Columns.new(%w[topic lag], [["orders", 1234], ["refunds", nil]])
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

      def to_s #: () -> String
        widths = @rows.transpose.map { |column| column.map { |cell| Text.width(cell) }.max }
        @rows.map { |row| line(row, widths) }.join("\n")
      end

      private

      def line(row, widths)
        row.zip(widths).map.with_index do |(cell, width), index|
          @numbers.include?(index) ? Text.rjust(cell, width) : Text.ljust(cell, width)
        end.join(GAP).rstrip
      end
    end
  end
end
