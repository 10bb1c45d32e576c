# frozen_string_literal: true

# Makes a line for a terminal out of pieces of text with styles.
#
#   styler = Styler.new(color: true)
#   styler.line([["node 1", :bold], [" is ready", :green]], 80)   # => at most 80 columns
#
# The texts must be clean (UI.clean). Without Unicode, what isn't ASCII becomes a question mark.
module Skep
  module CLI
    module Top
      class Styler
        def self.for(env)
          new(color: UI::Ansi.wanted?(env), unicode: Encoding.find("locale") == Encoding::UTF_8)
        end

        def initialize(color:, unicode: true)
          @ansi = UI::Ansi.new(color)
          @unicode = unicode
          @ellipsis = unicode ? "…" : "."
        end

        # The characters of a bar: full, half, empty.
        def blocks = @unicode ? %w[█ ▒ ·] : %w[# = .]

        # also: a style of the whole line.
        def line(pieces, columns, also: nil)
          left = columns
          pieces.map do |text, *styles|
            text = text.gsub(/[^\x00-\x7F]/, "?") unless @unicode || text.ascii_only?
            fitting = UI::DisplayWidth.fit(text, left, ellipsis: @ellipsis)
            left -= UI::DisplayWidth.of(fitting)
            @ansi.style(fitting, *styles.compact, *also)
          end.join
        end
      end
    end
  end
end
