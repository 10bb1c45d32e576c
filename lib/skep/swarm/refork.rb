# frozen_string_literal: true

# A mold made from a warm process: a node that has done enough work ends that work and becomes one,
# so that what got warm (caches, inline caches, compiled code) is shared by those forked from it.
#
#   Refork.new(foundry, supervisor) { |why| … }.start(node)
#
# Its seat has a successor by then. What can't be carried across a fork (connections, threads,
# native clients) makes it unfit: it ends instead, and says why. Of its first child it is asked, a
# second after it was ready, whether it lives, and has no more memory of its own than the node whose
# place it took.
module Skep
  class Swarm
    class Refork < Trial
      REASON = "refork"
      PROOF_SECONDS = 1.0
      NOISE = 1_048_576 # bytes
      private_constant :PROOF_SECONDS, :NOISE

      def start(node) #: (Node) -> void
        @warm = node
        @manager.replace(node.seat, REASON, farewell: method(:farewell)) do |replaced|
          over("node #{node.label} has no successor") unless replaced
          over("node #{node.label} ended before it was a mold") if replaced && @mold.nil?
        end
      end

      # The node's work is over, and it is a mold now.
      def became(node, pidfd) #: (Node, OS::Pidfd) -> void
        @mold = @foundry.take(@number, node.pid, pidfd, @channel, trial: self)
      end

      # It can't be one.
      def unfit(why) = over(why) #: (String) -> void

      def ready
        @before = @manager.seats.to_h { |seat| [seat, cost(seat)] }
        super
      end

      private

      # In place of a stop.
      def farewell(node)
        @channel, theirs = Channel.pair
        @number = @foundry.number
        node.retire_to_mold(@number, theirs, self)
      end

      def judge(seat)
        first = seat.node
        @supervisor.loop.after(PROOF_SECONDS) do
          next drop("the first node of the warm mold did not live") unless seat.node == first

          cost, before = cost(seat), @before[seat]
          next adopt unless cost && before && cost > before + NOISE

          drop("its first node has #{mebibytes(cost)} of its own, the one before had " \
               "#{mebibytes(before)}")
        end
      end

      # What is its own; the rest it shares with the mold alone, as the first child of it.
      # As far as it has counted its pages; the loop can't wait for that.
      def cost(seat) = seat.node&.footprint&.then { |known| known.least if known.measured? }

      def mebibytes(bytes) = format("%.1f MiB", bytes / 1_048_576.0)
    end
  end
end
