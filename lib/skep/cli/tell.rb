# frozen_string_literal: true

require "skep/cli/asking"

# A command that tells a running swarm something, over its status socket: COMMAND, and facts that go
# with it.
module Skep
  module CLI
    class Tell < Command
      include Asking

      private

      def perform
        path = control_path
        nothing_more
        tell(path)
        0
      end

      def tell(path) = ask(self.class::COMMAND, path:, **facts)
      def facts = {}

      # For who may be content with less than the end of it.
      def may_return_at_once(parser)
        parser.on("--no-wait", "return at once") { options[:no_wait] = true }
      end
    end
  end
end
