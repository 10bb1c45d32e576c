# frozen_string_literal: true

# Who may follow the holder of a seat's lock, as the supervisor decides it.
#
#   claim = Claim.new(locks, cell, roster)
#   claim.open        # from the instant on that nobody holds the lock, one spare may claim the seat
#   claim.shut        # => the node that has claimed it before, or nil; nobody can any more
#   claim.heir        # that node, until it has been given the seat
#
# One word of the page, changed by compare-and-swap only: whoever asks, supervisor and spares have
# one answer. Where there are no such locks nothing can be claimed: Claim::NONE.
module Skep
  class Swarm
    class Claim
      # Of a seat that no spare can claim.
      class None
        def open = nil #: () -> void
        def shut = nil #: () -> nil
        def heir = nil #: () -> nil
        def given = nil #: () -> void
        def lose(_node) = false #: (Node) -> bool
        def held_by?(_node) = false #: (Node) -> bool
        def free(_node) = nil #: (Node) -> void
        def possible? = false #: () -> bool
      end
      NONE = None.new.freeze
      private_constant :None

      attr_reader :heir #: Node?

      # fresh: the lock has to be made.
      #: (OS::Locks, Integer, Roster, ?fresh: bool) -> void
      def initialize(locks, cell, roster, fresh: true)
        @locks = locks
        @cell = cell
        @roster = roster
        @locks.prepare(cell) if fresh
      end

      def possible? = true #: () -> bool
      def open = @locks.open(@cell) #: () -> void

      def shut #: () -> Node?
        slot = @locks.close(@cell)
        slot ? @heir = @roster[slot] : @heir
      end

      # The heir has the seat.
      def given = @heir = nil #: () -> void

      # A node has ended. Was the seat its, by a claim that we hadn't followed yet?
      def lose(node) #: (Node) -> bool
        return false unless @locks.claimer(@cell) == node.slot || @heir.equal?(node)

        shut
        @heir = nil
        true
      end

      def held_by?(node) = !node.pid.nil? && @locks.holder(@cell) == node.pid #: (Node) -> bool

      # Its process has ended: where the kernel didn't get to say so, it is as good as said.
      def free(node) = held_by?(node) && @locks.prepare(@cell) #: (Node) -> void
    end
  end
end
