# frozen_string_literal: true

# A line of a terminal, of pieces that have a look.
#
#   paint = Paint.new(colours: true)
#   paint.line([["node 1", :bold], [" is ready", :green]], 80)   # => 80 columns at most
#
# Its text comes clean; colours are the only escape sequences. Where the terminal knows no Unicode
# what it can't show is a question mark.
module Skep
  module CLI
    class Top < Command
      class Paint
        # What a person's environment asks for.
        def self.for(env) #: (untyped) -> Paint
          new(colours: Colours.wanted?(env),
              unicode: Encoding.find("locale") == Encoding::UTF_8)
        end

        def initialize(colours:, unicode: true) #: (colours: bool, ?unicode: bool) -> void
          @colours = Colours.new(colours)
          @unicode = unicode
          @cut = unicode ? "…" : "."
        end

        # Of a bar: full, half, empty.
        def blocks = @unicode ? %w[█ ▒ ·] : %w[# = .] #: () -> Array[String]

        # also: a look that the whole line has.
        #: (Array[[String, *Symbol?]], Integer, ?also: Symbol?) -> String
        def line(pieces, columns, also: nil)
          left = columns
          pieces.map do |text, *looks|
            fitting = Text.fit(shown(text), left, cut: @cut)
            left -= Text.width(fitting)
            @colours.look(fitting, *looks.compact, *also)
          end.join
        end

        private

        def shown(text) = @unicode || text.ascii_only? ? text : text.gsub(/[^\x00-\x7F]/, "?")
      end
      private_constant :Paint
    end
  end
end
