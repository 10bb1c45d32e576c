# frozen_string_literal: true

# All nodes renewed, one at a time, each new one ready before its predecessor goes.
#
#   Rolling.new(manager, "restart") { |failed_seat| … }.start   # nil: all are new
#
# Those with nothing in hand come first. It ends at the first that can't be replaced: what is wrong
# with it would be wrong with the others. A seat whose process has ended meanwhile is new anyway.
module Skep
  class Swarm
    class Rolling
      # mold: whose nodes are new already; else those that begin from now on are. seats: only these.
      #: (Manager, String, ?mold: Mold?, ?seats: Array[Seat]?) { (Seat?) -> void } -> void
      def initialize(manager, reason, mold: nil, seats: nil, &done)
        @manager = manager
        @reason = reason
        @mold = mold
        @seats = seats || manager.all
        @done = done
      end

      def start #: () -> self
        @began = OS.now
        @left = by_load
        step
        self
      end

      private

      def by_load
        @seats.sort_by { |seat| [seat.helper? ? 1 : 0, @manager.load(seat), seat.id || 0] }
      end

      def step
        @left.shift while @left.any? && renewed?(@left.first)
        seat = @left.shift or return @done.call(nil)
        @manager.replace(seat, @reason) do |replaced|
          next @done.call(seat) unless replaced || (renewed?(seat) && !@manager.stopping?)

          step
        end
      end

      # Returns true if the seat is removed, if its next process will be new, or if the one that it
      # has is.
      def renewed?(seat)
        return true if seat.given_up? || !seat.live?

        @mold ? seat.node.mold == @mold : seat.node.asked_at >= @began
      end
    end
  end
end
