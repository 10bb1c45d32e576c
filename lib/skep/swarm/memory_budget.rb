# frozen_string_literal: true

# Judges whether a swarm has too much memory, and whose end would give most of it back.
# Pure: facts in, a verdict out.
#
#   judge = MemoryBudget.new(budget: 4 << 30)
#   judge.verdict(total: 5 << 30, nodes: { node => Share.new(private: …, fresh: …) }, going: nil)
#   # => nil: it has not, or one that was picked is still going
#   # => [:replace, node], or [:stop, node] where it is so much that nothing is to be waited for
#   # => [:futile, nil]: a node's end would give back no more than its successor takes
#
# A node is picked by what is its own (USS), not by what it sees (RSS): of what it shares nothing
# comes back.
module Skep
  class Swarm
    class MemoryBudget
      # private: bytes of its own; fresh: what it had when it was young, as its successor will.
      Share = Struct.new(:private, :fresh, keyword_init: true) do
        def gain = private - fresh #: () -> Integer
      end

      HARD = 1.25 # times the budget
      WORTH = 3.0 # a node must give back that part of what it has, or all that is too much
      private_constant :HARD, :WORTH

      attr_reader :budget #: Integer

      def initialize(budget:) #: (budget: Integer) -> void
        @budget = budget
      end

      # going: the node that was picked before, until it has gone.
      def verdict(total:, nodes:, going: nil)
        return if total <= budget
        return (total > hard ? [:stop, going] : nil) if going

        node, share = nodes.max_by { |_, one| one.gain }
        return [:futile, nil] unless share && worth?(share, total - budget)

        [total > hard ? :stop : :replace, node]
      end

      private

      def hard = budget * HARD

      def worth?(share, excess)
        share.gain.positive? && (share.gain >= excess || share.gain * WORTH >= share.private)
      end
    end
  end
end
