# frozen_string_literal: true

# A mold made from a warm process: a node that has done enough work ends that work and becomes one,
# so that what got warm (caches, inline caches, compiled code) is shared by those forked from it.
#
#   Refork.new(mold_pool, supervisor) { |why| … }.start(node)
#
# Its slot has a successor by then. What can't be carried across a fork (connections, threads,
# native clients) makes it unfit: it ends instead, and says why. Of its first child it is asked, a
# second after it was ready, whether it lives and is well; then CanaryPolicy weighs it against the
# nodes of the mold before.
module Skep
  class Swarm
    module Rollout
      class Refork < Rollout::CanaryRollout
        REASON = "refork"
        PROOF_SECONDS = 1.0
        WEIGHING_SECONDS = 1.0 # for all to count their pages in
        private_constant :PROOF_SECONDS, :WEIGHING_SECONDS

        def start(node) #: (Nodes::NodeProcess) -> void
          @warm = node
          @veterans = @node_pool.slots.filter_map(&:node)
          weigh(@veterans)
          @node_pool.replace(node.slot, REASON, on_retire: method(:become_mold)) do |replaced|
            over("node #{node.label} has no successor") unless replaced
            over("node #{node.label} ended before it was a mold") if replaced && @mold.nil?
          end
        end

        # The node's work is over, and it is a mold now.
        def became(node, pidfd) #: (Nodes::NodeProcess, OS::Pidfd) -> void
          @mold = @mold_pool.take(@number, node.pid, pidfd, @channel, trial: self)
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
        def become_mold(node)
          @channel, theirs = IPC::Channel.pair
          @number = @mold_pool.number
          node.retire_to_mold(@number, theirs, self)
        end

        def judge(slot)
          first = slot.node
          later(PROOF_SECONDS, slot, first) do
            next drop("its first node isn't well: #{first.unhealthy_reports.reason}") if ill?(first)

            weigh([first, *@veterans.select(&:live?)])
            later(WEIGHING_SECONDS, slot, first) { weighed(first) }
          end
        end

        def later(seconds, slot, first)
          @supervisor.loop.after(seconds) do
            next if @over
            next ready if slot.retired?
            next yield if slot.node == first

            drop("its first node did not live")
          end
        end

        def ill?(node) = node.unhealthy_reports.any?

        def weighed(first)
          others = @veterans.filter_map { |node| facts(node) }
          why = CanaryPolicy.new(nodes: @node_pool.slots.size).verdict(facts(first), others)
          why ? drop(why) : adopt
        end

        # They count their pages themselves; the loop doesn't wait for that.
        def weigh(nodes) = nodes.each { |node| node.channel.post("measure") }

        # What it has counted; nil where it hasn't yet.
        def facts(node)
          known = node.node_memory
          CanaryPolicy::Facts.new(known.most, known.least) if known&.measured?
        end
      end

      # Judges the first node of a warm mold by its memory. Pure: facts in, a verdict out.
      #
      #   canary = CanaryPolicy.new(nodes: 4)
      #   canary.verdict(first, others)   # => nil: it is cheaper; else a sentence
      #
      # It goes by what a node takes once all are of one mold: what is its own, and its part of the
      # rest, shared with the mold and its siblings (the PSS of a swarm at rest). The PSS as it is
      # now would mislead: so far the first shares with the mold alone.
      class CanaryPolicy
        NOISE = 1_048_576 # bytes
        private_constant :NOISE

        Facts = Struct.new(:rss, :uss) # bytes

        def initialize(nodes:) #: (nodes: Integer) -> void
          @sharers = nodes + 1
        end

        # others: of nodes that have worked as they should. Where nothing is known nothing is said.
        def verdict(first, others) #: (Facts?, Array[Facts]) -> String?
          return if first.nil? || others.empty?

          cost = cost(first)
          before = others.sum { |each| cost(each) } / others.size
          return unless cost > before + NOISE

          "its first node takes #{mebibytes(cost)}, those before #{mebibytes(before)}"
        end

        # A node's part of the memory of all.
        def cost(facts) #: (Facts) -> Integer
          facts.uss + (facts.rss - facts.uss) / @sharers
        end

        private

        def mebibytes(bytes) = format("%.1f MiB", bytes / 1_048_576.0)
      end
    end
  end
end
