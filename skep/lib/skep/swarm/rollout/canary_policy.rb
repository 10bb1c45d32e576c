# frozen_string_literal: true

# Judges the first node of a warm mold by its memory. Pure: facts in, verdict out.
#
#   canary = CanaryPolicy.new(nodes: 4)
#   canary.verdict(first, others)   # => nil: it is cheaper; else a sentence
#
# It compares what a node takes once all are of one mold: what is its own, and its part of
# the rest, shared with the mold and its siblings (the PSS of a swarm at rest). The present
# PSS would mislead: so far the first node shares with the mold alone.
module Skep
  class Swarm
    module Rollout
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
