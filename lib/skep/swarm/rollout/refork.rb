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
        NODE_FACTS = %i[node_promoted node_unfit node_exited node_died].freeze
        private_constant :PROOF_SECONDS, :WEIGHING_SECONDS, :WEIGHING_LIMIT, :NODE_FACTS

        def initialize(node, **parts, &done)
          super("refork", **parts, &done)
          @node = node
        end

        def start
          follow_mold
          @veterans = @node_pool.slots.filter_map(&:node)
          memory_monitor.measure(@veterans)
          @node_pool.replace(@node.slot, @reason, on_retire: method(:become_mold)) do |replaced|
            roll_back("node #{@node.label} has no successor") unless replaced
            roll_back("node #{@node.label} ended before it was a mold") if replaced && @mold.nil?
          end
        end

        private

        # The code is the same in all molds.
        def hint = nil

        # In place of a stop.
        def become_mold(node)
          @channel, theirs = IPC::Channel.pair
          @number = @mold_pool.take_number
          @node_subscription = @events.subscribe(*NODE_FACTS) do |event|
            node_fact(event.name, event.facts) if event.subject.equal?(@node)
          end
          node.retire_to_mold(@number, theirs)
        rescue SystemCallError => e # no descriptor is left: the successor takes over all the same
          node.retire
          roll_back("there is no channel for a mold: #{e.message}")
        end

        # What becomes of the node is seen to even if the refork has failed by then.
        def node_fact(name, facts)
          @events.unsubscribe(@node_subscription)
          return promoted(facts[:pidfd]) if name == :node_promoted

          @channel.close
          roll_back("node #{@node.label} can't be a mold: #{facts[:sentence]}") if
            name == :node_unfit
        end

        def promoted(pidfd)
          @mold = @mold_pool.take(@number, @node.pid, pidfd, @channel)
          retire(@mold) if over?
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

        # Judges the first node of a warm mold by its memory. Pure: facts in, verdict out.
        #
        #   canary = CanaryPolicy.new(nodes: 4)
        #   canary.verdict(first, others)   # => nil: it is cheaper; else a sentence
        #
        # It compares what a node takes once all are of one mold: what is its own, and its part of
        # the rest, shared with the mold and its siblings (the PSS of a swarm at rest). The present
        # PSS would mislead: so far the first node shares with the mold alone.
        class CanaryPolicy
          NOISE = 1_048_576 # bytes
          private_constant :NOISE

          Facts = Struct.new(:rss, :uss) # bytes

          def initialize(nodes:)
            @sharers = nodes + 1
          end

          # others: of nodes that have worked as they should. Returns nil where nothing is known.
          def verdict(first, others)
            return if first.nil? || others.empty?

            cost = cost(first)
            before = others.sum { |each| cost(each) } / others.size
            return unless cost > before + NOISE

            "its first node takes #{mebibytes(cost)}, those before #{mebibytes(before)}"
          end

          # A node's part of the memory of all.
          def cost(facts)
            facts.uss + (facts.rss - facts.uss) / @sharers
          end

          private

          def mebibytes(bytes) = format("%.1f MiB", bytes / 1_048_576.0)
        end
      end
    end
  end
end
