# frozen_string_literal: true

# Text on a terminal, for all commands.
#
#   UI.clean("a\e[2Jb\n")    # => "a^[[2Jb^J"
#   UI.width($stdout)        # => the columns of the terminal, nil if it is none
module Skep
  module CLI
    module UI
      UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/
      private_constant :UNSEEN

      module_function

      # Returns the text of a value (a topic's name, an error) with nothing in it that moves the
      # cursor or sets colours: controls, marks of direction and joiners become ^X or a question
      # mark.
      def clean(value)
        text = value.to_s
        text = text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub("?")
        text.match?(UNSEEN) ? text.gsub(UNSEEN) { |unseen| visible(unseen) } : text
      end

      # Returns the number of columns of the terminal `out`, nil if it is no terminal or reports
      # none.
      def width(out)
        require "io/console"
        columns = out.winsize.last if out.respond_to?(:winsize) && out.tty?
        columns if columns&.positive?
      rescue SystemCallError # a terminal that doesn't know its size
        nil
      end

      def visible(char)
        char.ord < 128 ? "^#{(char.ord ^ 64).chr}" : "?"
      end
      private_class_method :visible
    end
  end
end

require "skep/cli/ui/ansi"
require "skep/cli/ui/display_width"
require "skep/cli/ui/humanize"
require "skep/cli/ui/problem_lines"
require "skep/cli/ui/text_table"
