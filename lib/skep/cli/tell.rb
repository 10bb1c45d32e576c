# frozen_string_literal: true

require "skep/cli/asking"

# `skep stop [NAME]`, `skep quiet [NAME]`: commands to a running swarm, as TERM and TSTP would give.
module Skep
  module CLI
    class Tell < Command
      include Asking

      private

      def perform
        path = control_path
        nothing_more
        answer = Watch::Query.new(path).ask(self.class::COMMAND)
        raise Misuse, answer["error"] if answer["error"]

        after(path)
        0
      end

      def after(path) = nil
    end

    class Quiet < Tell
      PURPOSE = "let a swarm finish what it has and take no more"
      USAGE = "skep quiet [NAME]"
      COMMAND = "quiet"
    end

    # Returns when the swarm has ended: its socket's file is gone.
    class Stop < Tell
      PURPOSE = "stop a swarm and wait for its end"
      USAGE = "skep stop [NAME] [--no-wait]"
      COMMAND = "stop"
      EXAMPLES = ["skep stop billing", "skep stop --control /run/skep/billing.sock"].freeze

      private

      def declare(parser)
        super
        parser.on("--no-wait", "return at once") { options[:no_wait] = true }
      end

      def perform
        path = control_path
        status = Watch::Query.new(path).ask("status").fetch("status")
        supervisor = Skep.pidfd(status["pid"])
        Watch::Query.new(path).ask(COMMAND)
        supervisor.wait unless options[:no_wait]
        0
      rescue Errno::ESRCH # it ended meanwhile
        0
      end
    end
  end
end
