# frozen_string_literal: true

require "skep/cli/manual"

# `skep man`: the manual page, made of what --help says, for `man -l -` or a folder of man's. The
# gem holds it as man/skep.1 (`rake man` writes that).
module Skep
  module CLI
    class Man < Command
      PURPOSE = "print the manual page"
      USAGE = "skep man"
      EXAMPLES = ["skep man | man -l -", "skep man > /usr/local/share/man/man1/skep.1"].freeze

      private

      def perform
        nothing_more
        require "skep/cli/man/page"
        out.puts(Page.new(Manual.entries).to_s)
        0
      end
    end
  end
end
