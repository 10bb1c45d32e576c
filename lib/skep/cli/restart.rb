# frozen_string_literal: true

require "skep/cli/tell"

# `skep restart [NAME]`: as USR2 would; returns when all nodes are new. With --node that one only.
module Skep
  module CLI
    class Restart < Tell
      PURPOSE = "renew all nodes, one at a time, the new one ready first"
      USAGE = "skep restart [NAME] [--node N] [--no-wait]"
      COMMAND = "restart"
      EXAMPLES = ["skep restart", "skep restart billing --no-wait",
                  "skep restart billing --node 3"].freeze

      private

      def declare(parser)
        super
        node(parser)
        may_return_at_once(parser)
      end

      def node(parser)
        parser.on("--node N", Integer, "this node only") { |id| options[:node] = id }
      end

      # It takes as long as the nodes take to finish what they have; a swarm that ends, ends it.
      def facts = { seconds: nil, wait: !options[:no_wait], **options.slice(:node) }
    end
  end
end
