# frozen_string_literal: true

# How many columns of a terminal a text takes: East Asian characters and emoji take two, combining
# marks none. An approximation of Unicode's East Asian Width. Texts must be clean (UI.clean).
#
#   DisplayWidth.of("注文")             # => 4
#   DisplayWidth.fit("a long name", 6)  # => "a lon…"
module Skep
  module CLI
    module UI
      module DisplayWidth
        WIDE = Regexp.union(
          /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF]/,
          /[\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}]/,
          /[\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]/
        )
        COMBINING = /[\p{Mn}\p{Me}]/
        private_constant :WIDE, :COMBINING

        module_function

        def of(text)
          return text.size if text.ascii_only?

          text.size + text.scan(WIDE).size - text.scan(COMBINING).size
        end

        # Cuts the text to that many columns; `ellipsis` replaces what is cut off.
        def fit(text, columns, ellipsis: "…")
          return text if of(text) <= columns
          return "" if columns < of(ellipsis)

          left = columns - of(ellipsis)
          "#{text.each_char.take_while { |char| (left -= of(char)) >= 0 }.join}#{ellipsis}"
        end

        # Returns lines. Breaks at spaces, or anywhere in a word that is too long for a line.
        def wrap(text, width)
          return [text] if of(text) <= width

          words = text.split.flat_map { |word| word.scan(/.{1,#{width}}/) }
          words.each_with_object([+""]) do |word, lines|
            full = of(lines.last) + of(word) + 1 > width
            lines << +"" if full && !lines.last.empty?
            lines.last << " " unless lines.last.empty?
            lines.last << word
          end
        end

        def ljust(text, columns) = text + (" " * [columns - of(text), 0].max)
        def rjust(text, columns) = (" " * [columns - of(text), 0].max) + text
      end
    end
  end
end
