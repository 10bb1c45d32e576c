# frozen_string_literal: true

require "skep/cli/tell"

# `skep restart [NAME]`: as USR2 would; returns when all nodes are new.
module Skep
  module CLI
    class Restart < Tell
      PURPOSE = "renew all nodes, one at a time, the new one ready first"
      USAGE = "skep restart [NAME] [--no-wait]"
      COMMAND = "restart"
      EXAMPLES = ["skep restart", "skep restart billing --no-wait"].freeze

      private

      def declare(parser)
        super
        parser.on("--no-wait", "return at once") { options[:no_wait] = true }
      end

      def tell(path)
        answer = Watch::Query.new(path).ask(self.class::COMMAND, seconds: nil,
                                                                 wait: !options[:no_wait])
        raise Misuse, answer["error"] if answer["error"]
      end
    end
  end
end
