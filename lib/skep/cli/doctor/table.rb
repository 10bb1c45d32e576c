# frozen_string_literal: true

require "io/console"

module Skep
  module CLI
    class Doctor < Command
      # Rows under a head, in columns as wide as a line has room for; longer cells go on below.
      #
      #   puts Table.new(%w[name age], [["Ada", 36]]).to_s(80)
      class Table
        GAP = "  "
        NARROW = 100    # where nobody can tell how wide a line is
        LEAST = 12
        private_constant :GAP, :NARROW, :LEAST

        # How wide a line of this output is.
        #
        #: (IO) -> Integer
        def self.width(out)
          out.respond_to?(:winsize) && out.tty? ? [out.winsize.last, LEAST * 5].max : NARROW
        rescue SystemCallError # a terminal that doesn't know
          NARROW
        end

        #: (Array[String] head, Array[Array[untyped]] rows) -> void
        def initialize(head, rows)
          @rows = [head, *rows].map { |row| row.map(&:to_s) }
        end

        #: (Integer width) -> String
        def to_s(width)
          widths = fit(@rows.transpose.map { |column| column.map(&:size).max }, width)
          @rows.map { |row| line(row, widths) }.join("\n")
        end

        private

        # Takes from the widest column until all fit.
        #
        #: (Array[Integer] wanted, Integer width) -> Array[Integer]
        def fit(wanted, width)
          widths = wanted.dup
          excess = widths.sum + (GAP.size * (widths.size - 1)) - width
          while excess.positive? && widths.max > LEAST
            widths[widths.index(widths.max)] -= 1
            excess -= 1
          end
          widths
        end

        #: (Array[String] row, Array[Integer] widths) -> String
        def line(row, widths)
          cells = row.zip(widths).map { |text, width| wrap(text, width) }
          Array.new(cells.map(&:size).max) do |index|
            cells.zip(widths).map { |cell, width| cell[index].to_s.ljust(width) }.join(GAP).rstrip
          end.join("\n")
        end

        # At spaces, or anywhere in a word that is too long for a line.
        #
        #: (String, Integer width) -> Array[String]
        def wrap(text, width)
          words = text.split.flat_map { |word| word.scan(/.{1,#{width}}/) }
          words.each_with_object([+""]) do |word, lines|
            lines << +"" if lines.last.size + word.size + 1 > width && !lines.last.empty?
            lines.last << " " unless lines.last.empty?
            lines.last << word
          end
        end
      end
      private_constant :Table
    end
  end
end
