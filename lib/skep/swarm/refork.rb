# frozen_string_literal: true

# A mold made from a warm process: a node that has done enough work ends that work and becomes one,
# so that what got warm (caches, inline caches, compiled code) is shared by those forked from it.
#
#   Refork.new(foundry, supervisor) { |why| … }.start(node)
#
# Its seat has a successor by then. What can't be carried across a fork (connections, threads,
# native clients) makes it unfit: it ends instead, and says why. Of its first child it is asked, a
# second after it was ready, whether it lives and is well; then Canary weighs it against the nodes
# of the mold before.
module Skep
  class Swarm
    class Refork < Trial
      REASON = "refork"
      PROOF_SECONDS = 1.0
      WEIGHING_SECONDS = 1.0 # for all to count their pages in
      private_constant :PROOF_SECONDS, :WEIGHING_SECONDS

      def start(node) #: (Node) -> void
        @warm = node
        @veterans = @manager.seats.filter_map(&:node)
        weigh(@veterans)
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

      private

      # A channel that no mold has got is of no use.
      def over(why)
        @channel&.close unless @mold
        super
      end

      # In place of a stop.
      def farewell(node)
        @channel, theirs = Channel.pair
        @number = @foundry.number
        node.retire_to_mold(@number, theirs, self)
      end

      def judge(seat)
        first = seat.node
        later(PROOF_SECONDS, seat, first) do
          next drop("its first node isn't well: #{first.complaints.reason}") if ill?(first)

          weigh([first, *@veterans.select(&:live?)])
          later(WEIGHING_SECONDS, seat, first) { weighed(first) }
        end
      end

      def later(seconds, seat, first)
        @supervisor.loop.after(seconds) do
          next if @over
          next ready if seat.given_up?
          next yield if seat.node == first

          drop("its first node did not live")
        end
      end

      def ill?(node) = node.complaints.any?

      def weighed(first)
        others = @veterans.filter_map { |node| facts(node) }
        why = Canary.new(nodes: @manager.seats.size).verdict(facts(first), others)
        why ? drop(why) : adopt
      end

      # They count their pages themselves; the loop doesn't wait for that.
      def weigh(nodes) = nodes.each { |node| node.channel.send("measure") }

      # What it has counted; nil where it hasn't yet.
      def facts(node)
        known = node.footprint
        Canary::Facts.new(known.most, known.least) if known&.measured?
      end
    end
  end
end
