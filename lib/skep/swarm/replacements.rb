# frozen_string_literal: true

# Processes taking over seats from others, each ready before its predecessor goes.
#
#   replacements = Replacements.new(notice, boots:, tell:, spares:)
#   replacements.begin(seat, "restart") { |ok| … }   # called once, at its end
#   replacements.ready(node)      # a successor can work: the old one is stopped
#   replacements.promoted(seat)   # the old one has gone: its successor holds the seat
#   replacements.failed(seat)     # the successor can't be had: the old one works on
#
# A seat has one at a time. Where the old one goes by itself before its successor is forked there is
# nothing left to replace, and it has failed. A removed seat is never replaced.
module Skep
  class Swarm
    class Replacements
      Replacement = Struct.new(:reason, :farewell, :done)
      private_constant :Replacement

      def initialize(notice, boots:, tell:, spares:)
        @notice = notice
        @boots = boots
        @tell = tell
        @spares = spares
        @all = {}.compare_by_identity
      end

      def any? = @all.any? #: () -> bool
      def of(seat) = @all[seat] #: (Seat) -> Replacement?

      # mold: whom to fork the successor from; farewell: what the old node gets in place of a stop.
      #: (Seat, String, ?mold: Mold?, ?farewell: ^(Node) -> void) ?{ (bool succeeded) -> void }
      #:   -> void
      def begin(seat, reason, **how, &done)
        return done&.call(false) if @over || of(seat) || !seat.live? || seat.given_up?
        # Its node has just been followed, which isn't written down yet.
        if seat.claim.shut || seat.followed?
          return seat.when_settled { self.begin(seat, reason, **how, &done) }
        end

        replace(seat, reason, **how, &done)
      end

      # A node is ready; should it be a successor its predecessor is to finish.
      def ready(node) #: (Node) -> void
        seat = node.seat
        return unless node == seat.successor && of(seat)

        retire(seat.node, of(seat).reason, &of(seat).farewell)
      end

      # Lets a node finish, and kills it if that takes too long.
      #: (Node, String) ?{ (Node) -> void } -> void
      def retire(node, reason)
        node.reason = reason
        block_given? ? yield(node) : node.retire
        @notice.give(node)
      end

      def promoted(seat) #: (Seat) -> void
        seat.node.place
        over(seat, true, :node_replaced, :info)
      end

      def failed(seat) #: (Seat) -> void
        @boots.withdraw(seat)
        over(seat, false, :replacement_failed, :error)
        @spares.consider(seat)
      end

      # The swarm is stopping.
      def abandon #: () -> void
        @over = true
        all, @all = @all.values, {}.compare_by_identity
        all.each { |replacement| replacement.done&.call(false) }
      end

      private

      def replace(seat, reason, mold: nil, farewell: nil, &done)
        @all[seat] = Replacement.new(reason, farewell, done)
        seat.failure = nil
        @tell.call(:node_replacing, seat, reason:)
        @boots.enqueue(seat, mold:)
      end

      def over(seat, succeeded, event, level)
        replacement = @all.delete(seat) or return
        @tell.call(event, seat, level:, reason: replacement.reason)
        replacement.done&.call(succeeded)
      end
    end
  end
end
