# frozen_string_literal: true

# How often a seat got a new process, by what had ended the one before.
#
#   causes = Causes.new
#   causes.ended(node, exit)     # no exit: its process lives on as a mold
#   causes.begun                 # the next one has the seat
#   causes.counts                # => { "signal" => 2, "restart" => 1 }
#
# A reason of ours (`hung`, `memory_limit`, `restart`, … as in docs/events.md) goes before how it
# ended: `signal`, `failure` (an exit status but 0), `clean`, `unknown`.
module Skep
  class Swarm
    class Causes
      include Kept

      KEPT = %i[counts last].freeze

      attr_reader :counts #: Hash[String, Integer]

      def initialize #: () -> void
        @counts = {}
        @last = nil
      end

      def ended(node, exit) #: (Node, Exit?) -> void
        @last = node.reason || (node.pid ? kind(exit) : "fork_failed")
      end

      # Nobody had the seat before the first.
      def begun #: () -> void
        @counts[@last] = @counts.fetch(@last, 0) + 1 if @last
        @last = nil
      end

      def inspect = "#<#{self.class} #{counts}>" #: () -> String

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
