# frozen_string_literal: true

# Text of others on a terminal: names of topics, reasons, errors. Nothing in it may move the cursor
# or paint; and it is as wide as a terminal shows it.
#
#   Text.clean("a\e[2Jb\n")    # => "a^[[2Jb^J"
#   Text.width("注文")          # => 4
#   Text.fit("a long name", 6) # => "a lon…"
#
# What can't be seen (controls, marks of direction, joiners) is shown as ^X or a question mark.
module Skep
  module CLI
    module Text
      UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/
      WIDE = Regexp.union(
        /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF]/,
        /[\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}]/,
        /[\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]/
      )
      NONE = /[\p{Mn}\p{Me}]/
      private_constant :UNSEEN, :WIDE, :NONE

      module_function

      def clean(value) #: (untyped) -> String
        text = value.to_s
        text = text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub("?")
        text.match?(UNSEEN) ? text.gsub(UNSEEN) { |unseen| visible(unseen) } : text
      end

      # Of clean text, in columns.
      def width(text) #: (String) -> Integer
        return text.size if text.ascii_only?

        text.size + text.scan(WIDE).size - text.scan(NONE).size
      end

      # Clean text, so many columns at most; `cut` stands for what is left out.
      def fit(text, columns, cut: "…") #: (String, Integer, ?cut: String) -> String
        return text if width(text) <= columns
        return "" if columns < width(cut)

        left = columns - width(cut)
        "#{text.each_char.take_while { |char| (left -= width(char)) >= 0 }.join}#{cut}"
      end

      def ljust(text, columns) = text + (" " * [columns - width(text), 0].max)
      def rjust(text, columns) = (" " * [columns - width(text), 0].max) + text

      def visible(char) #: (String) -> String
        char.ord < 128 ? "^#{(char.ord ^ 64).chr}" : "?"
      end
      private_class_method :visible
    end
  end
end
