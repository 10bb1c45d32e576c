# frozen_string_literal: true

# What the supervisor's own absence excuses: while it was stopped, frozen or starved, its nodes may
# have been, too. Pure.
#
#   absence = Absence.new
#   absence.over(from, now, signs)   # it last looked then, it is back now, this is what it finds
#   absence.excuse(sign)             # => the Sign, as it counts from now on
#
# Nobody's silence began before it was back, and what a node had declared is owed that much later.
module Skep
  class Swarm
    class Absence
      include Kept

      KEPT = %i[back_at].freeze

      def initialize #: () -> void
        @back_at = 0.0
        @longer = {}
      end

      def keep = { **super, "longer" => @longer.to_a } #: () -> Hash[String, untyped]

      def recall(plain) #: (Hash[String, untyped]) -> self
        @longer = plain["longer"].to_h
        super
      end

      #: (Float, Float, Array[Liveness::Sign]) -> void
      def over(from, back_at, signs)
        @longer = signs.filter_map do |sign|
          owed = excuse(sign).busy_until
          [sign.cell, [sign.busy_until, owed + back_at - from]] if owed > from
        end.to_h
        @back_at = back_at
      end

      #: (Liveness::Sign) -> Liveness::Sign
      def excuse(sign)
        declared, longer = @longer[sign.cell]
        busy_until = declared == sign.busy_until ? longer : sign.busy_until
        Liveness::Sign.new(sign.cell, sign.thread, since(sign.at), busy_until)
      end

      def since(time) = [time, @back_at].max #: (Float) -> Float
    end
  end
end
