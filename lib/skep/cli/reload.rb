# frozen_string_literal: true

require "skep/cli/restart"

# `skep reload [NAME]`: as HUP would; returns when all nodes run the new code.
module Skep
  module CLI
    class Reload < Restart
      PURPOSE = "load the file again beside the old code, and roll over to it if it works"
      USAGE = "skep reload [NAME] [--no-wait]"
      COMMAND = "reload"
      EXAMPLES = ["skep reload", "skep reload billing"].freeze

      private

      def node(_parser) = nil # new code is for all of them
    end
  end
end
