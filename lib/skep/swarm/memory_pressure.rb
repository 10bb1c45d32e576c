# frozen_string_literal: true

# Judges whether memory runs short around the swarm. It remembers the last look and touches nothing.
#
#   pressure = MemoryPressure.new
#   pressure.verdict(stalled: 1.5, current: 900, limit: 1000, now: 10.0)
#   # => nil, or once at the beginning of a shortage { stalled: 0.12, current: …, limit: … }
#
# Short is where processes have waited for memory for a tenth of the time since the last look (PSI,
# https://docs.kernel.org/accounting/psi.html), or where the control group is nearly full.
module Skep
  class Swarm
    class MemoryPressure
      STALLED = 0.1
      FULL = 0.95
      private_constant :STALLED, :FULL

      # stalled: seconds of waiting so far, nil: not counted; current and limit in bytes, nil: none.
      #: (stalled: Float?, current: Integer?, limit: Integer?, now: Float) -> Hash[Symbol, untyped]?
      def verdict(stalled:, current:, limit:, now:)
        part = part(stalled, now)
        @stalled, @at = stalled, now
        was, @short = @short, part >= STALLED || full?(current, limit)
        { stalled: part.round(3), current:, limit: }.compact if @short && !was
      end

      private

      def part(stalled, now)
        stalled && @stalled && now > @at ? (stalled - @stalled) / (now - @at) : 0.0
      end

      def full?(current, limit) = current && limit ? current >= limit * FULL : false
    end
  end
end
