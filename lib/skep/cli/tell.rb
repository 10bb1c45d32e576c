# frozen_string_literal: true

require "skep/cli/asking"

# A command that tells a running swarm something, over its status socket.
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

      def tell(path)
        answer = Watch::Query.new(path).ask(self.class::COMMAND)
        raise Misuse, answer["error"] if answer["error"]
      end
    end
  end
end
