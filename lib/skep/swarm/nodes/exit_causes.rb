# frozen_string_literal: true

# How often a slot got a new process, by what had ended the one before.
#
#   causes = ExitCauses.new
#   causes.ended(node, exit)     # no exit: its process lives on as a mold
#   causes.begun                 # the next one has the slot
#   causes.counts                # => { "signal" => 2, "restart" => 1 }
#
# A reason that skep gives (`hung`, `memory_limit`, … as in docs/reference/events.md) goes
# before how it ended: `signal`, `failure` (an exit status but 0), `clean`, `unknown`.
module Skep
  class Swarm
    module Nodes
      class ExitCauses
        attr_reader :counts

        def initialize
          @counts = {}
          @last = nil
        end

        def ended(node, exit)
          @last = node.reason || (node.pid ? kind(exit) : "fork_failed")
        end

        # Nobody had the slot before the first.
        def begun
          @counts[@last] = @counts.fetch(@last, 0) + 1 if @last
          @last = nil
        end

        def inspect = "#<#{self.class} #{counts}>"

        private

        def kind(exit)
          return "refork" unless exit
          return "signal" if exit.signal
          return "unknown" unless exit.exitstatus

          exit.clean? ? "clean" : "failure"
        end
      end
    end
  end
end
