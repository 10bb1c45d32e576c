# frozen_string_literal: true

# Who may follow the holder of a slot's lock, as the supervisor decides it.
#
#   claim = SlotClaim.new(locks, cell, node_table)
#   claim.open        # from the instant on that nobody holds the lock, one spare may claim the slot
#   claim.shut        # => the node that has claimed it before, or nil; nobody can any more
#   claim.claimant    # that node, until it has been given the slot
#
# One word of the page, changed by compare-and-swap only: whoever asks, supervisor and spares have
# one answer. Where there are no such locks nothing can be claimed: NONE.
module Skep
  class Swarm
    module Nodes
      class SlotClaim
        # Of a slot that no spare can claim.
        class None
          def open = nil #: () -> void
          def shut = nil #: () -> nil
          def claimant = nil #: () -> nil
          def given = nil #: () -> void
          def lose(_node) = false #: (Nodes::NodeProcess) -> bool
          def held_by?(_node) = false #: (Nodes::NodeProcess) -> bool
          def free(_node) = nil #: (Nodes::NodeProcess) -> void
          def possible? = false #: () -> bool
        end
        NONE = None.new.freeze
        private_constant :None

        attr_reader :claimant #: Nodes::NodeProcess?

        # fresh: the lock has to be made.
        #: (OS::RobustLocks, Integer, Nodes::NodeTable, ?fresh: bool) -> void
        def initialize(locks, cell, node_table, fresh: true)
          @locks = locks
          @cell = cell
          @node_table = node_table
          @locks.prepare(cell) if fresh
        end

        def possible? = true #: () -> bool
        def open = @locks.open(@cell) #: () -> void

        def shut #: () -> Nodes::NodeProcess?
          page_index = @locks.close(@cell)
          page_index ? @claimant = @node_table[page_index] : @claimant
        end

        # The claimant has the slot.
        def given = @claimant = nil #: () -> void

        # A node has ended. Was the slot its, by a claim that we hadn't followed yet?
        def lose(node) #: (Nodes::NodeProcess) -> bool
          return false unless @locks.claimer(@cell) == node.page_index || @claimant.equal?(node)

          shut
          @claimant = nil
          true
        end

        #: (Nodes::NodeProcess) -> bool
        def held_by?(node)
          !node.pid.nil? && @locks.holder(@cell) == node.pid
        end

        # Its process has ended: where the kernel didn't get to say so, it is as good as said.
        def free(node) = held_by?(node) && @locks.prepare(@cell) #: (Nodes::NodeProcess) -> void
      end
    end
  end
end
