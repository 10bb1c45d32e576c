# frozen_string_literal: true

# How long seats were without a node that works: from the notice of an end to the readiness of who
# follows, however many tries that takes.
#
#   recoveries = Recoveries.new
#   recoveries.lost(node, now)        # it has ended
#   recoveries.ready(node, now)       # who has the seat now is ready; or how long it took, if known
#   recoveries.forget(seat)           # it is given up
#   recoveries.to_plain               # => Durations', of all seats together
#
# One that was never ready takes nothing away by its end, nor one that is replaced while it works.
module Skep
  class Swarm
    class Recoveries
      include Kept

      KEPT = %i[lost].freeze

      def initialize #: () -> void
        @lost = {}
        @durations = Durations.new
      end

      def lost(node, now) #: (Node, Float) -> void
        seat = node.seat
        return if node != seat.node || node.retired? || node.kind_of_death != "work"

        @lost[seat.label.to_s] ||= now unless seat.helper? || seat.spare?
      end

      #: (Node, Float, ?took: Float?) -> void
      def ready(node, now, took: nil)
        at = @lost.delete(node.label.to_s) or return
        @durations.add(((took || (now - at)) * 1e9).round)
      end

      def forget(seat) = @lost.delete(seat.label.to_s) #: (Seat) -> void

      def to_plain = @durations.to_plain #: () -> Hash[String, untyped]

      def keep = { **super, "durations" => to_plain } #: () -> Hash[String, untyped]

      def recall(plain) #: (Hash[String, untyped]) -> self
        @durations.merge(plain["durations"])
        super
      end

      def inspect = "#<#{self.class} #{@durations.count}>" #: () -> String
    end
  end
end
