# frozen_string_literal: true

# A mold made from a warm node: it ends its work and becomes a mold, so that what is warm (caches,
# inline caches, compiled code) is shared by the nodes forked from it.
#
#   Refork.new(node, **parts) { |why, _| … }.start   # nil: done; else a sentence
#
# The node's slot has a successor by then. Connections, threads and native clients can't be carried
# across a fork: a node that has any is unfit, says why and exits. The canary must be well a second
# after it was ready; then CanaryPolicy compares its memory with that of the nodes before.
module Skep
  class Swarm
    module Rollout
      class Refork < RollingUpdate
        PROOF_SECONDS = 1.0
        WEIGHING_SECONDS = 1.0 # until the look whether all nodes have counted their pages
        WEIGHING_LIMIT = 10.0  # of all such looks
        private_constant :PROOF_SECONDS, :WEIGHING_SECONDS, :WEIGHING_LIMIT

        def initialize(node, **parts, &done)
          super("refork", **parts, &done)
          @node = node
        end

        def start
          @node_pool.rollout = self
          @veterans = @node_pool.slots.filter_map(&:node)
          memory_monitor.measure(@veterans)
          @node_pool.replace(@node, @reason, refork: self)
        end

        # Called by NodePool, about the node. What becomes of it is seen to even if the refork has
        # failed by then.

        # In place of a stop.
        def become_mold(node)
          @channel, theirs = IPC::Channel.pair
          @number = @mold_pool.take_number
          node.retire_to_mold(@number, theirs)
        rescue SystemCallError => e # no descriptor is left: the successor takes over all the same
          node.retire
          roll_back("there is no channel for a mold: #{e.message}")
        end

        def promoted(pidfd)
          @mold = @mold_pool.take(@number, @node.pid, pidfd, @channel, self, from: @node.mold)
          retire(@mold) if over?
        end

        def unfit(sentence) = @unfit = sentence

        # The node is a node no more.
        def ended
          return if @mold

          @channel&.close
          why = @unfit ? "can't be a mold: #{@unfit}" : "ended before it was a mold"
          roll_back("node #{@node.label} #{why}")
        end

        private

        # The code is the same in all molds.
        def hint = nil

        # The successor couldn't begin, and the node stays.
        def look_before_the_mold
          return unless @node.live? && @node.replace_for.nil? && !@node.becoming_mold?

          @node.refork = nil # at the next replacement it is stopped as any other
          roll_back("node #{@node.label} has no successor")
        end

        def judge(slot)
          canary = slot.node
          later(PROOF_SECONDS, slot, canary) do
            reports = canary.unhealthy_reports
            next roll_back("its first node isn't well: #{reports.reason}") if reports.any?

            nodes = [canary, *@veterans.select(&:live?)]
            memory_monitor.measure(nodes)
            weigh(slot, canary, nodes, since: OS.now)
          end
        end

        # A busy node counts its pages late.
        def weigh(slot, canary, nodes, since:)
          later(WEIGHING_SECONDS, slot, canary) do
            all = nodes.all? { |node| memory_monitor.answered?(node, since:) }
            next compare(canary) if all || OS.now >= since + WEIGHING_LIMIT

            weigh(slot, canary, nodes, since:)
          end
        end

        def later(seconds, slot, canary)
          @loop.after(seconds) do
            next if over?
            next try_again if slot.retired?
            next yield if slot.node == canary

            roll_back("its first node did not live")
          end
        end

        def compare(canary)
          others = @veterans.filter_map { |node| facts(node) }
          why = CanaryPolicy.new(nodes: @node_pool.slots.size).verdict(facts(canary), others)
          why ? roll_back(why) : adopt
        end

        def memory_monitor = @node_pool.memory_monitor

        # What a node has counted; nil where it hasn't yet.
        def facts(node)
          known = node.node_memory
          CanaryPolicy::Facts.new(known.uss_max, known.uss_min) if known&.measured?
        end
      end
    end
  end
end
