# frozen_string_literal: true

require "skep/cli/tell"

# `skep stop [NAME]`: as TERM would; returns when the supervisor has ended.
module Skep
  module CLI
    class Stop < Tell
      PURPOSE = "stop a swarm and wait for its end"
      USAGE = "skep stop [NAME] [--no-wait]"
      COMMAND = "stop"
      EXAMPLES = ["skep stop billing", "skep stop --control /run/skep/billing.sock"].freeze

      private

      def declare(parser)
        super
        may_return_at_once(parser)
      end

      # It waits for a process, and must be sure that it is the swarm's.
      def tell(path)
        return super if options[:no_wait]

        supervisor = Skep.pidfd(Watch::Query.new(path).status_here["pid"])
        super
        supervisor.wait
      rescue Errno::ESRCH # it ended meanwhile
        nil
      ensure
        supervisor&.close
      end
    end
  end
end
