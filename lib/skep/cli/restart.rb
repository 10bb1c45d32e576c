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
        may_return_at_once(parser)
      end

      # It takes as long as the nodes take to finish what they have; a swarm that ends, ends it.
      def facts = { seconds: nil, wait: !options[:no_wait] }
    end
  end
end
