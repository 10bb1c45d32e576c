# frozen_string_literal: true

# Judges a node by what it says of itself (`child.unhealthy!`). Pure: facts and a time in, a verdict
# out.
#
#   health = Health.new(timeout: 30.0)
#   health.verdict([100.0, 104.0, 108.0], nil, 108.0)   # => :repeated
#   health.verdict([100.0], 100.0, 130.0)               # => :lasting
#   health.verdict([100.0], 100.0, 120.0)               # => 10.0: look again in so many seconds
#   health.verdict([100.0], nil, 120.0)                 # => nil: nothing to wait for
#
# One complaint costs nobody its life: it takes REPORTS of them within a timeout, no two of which
# count when they are closer than SPACING of it, and no `healthy!` between; or one that for a whole
# timeout neither progress nor `healthy!` takes back.
module Skep
  class Swarm
    class Health
      REPORTS = 3
      SPACING = 0.1

      def initialize(timeout:) #: (timeout: Float) -> void
        @timeout = timeout
        @spacing = timeout * SPACING * 0.9 # who complains in time isn't cheated by a clock's tick
      end

      # reports: when it complained since it last was healthy; ill_since: of the complaint that
      # isn't taken back yet.
      #: (Array[Float], Float?, Float) -> (:repeated | :lasting | Float | nil)
      def verdict(reports, ill_since, now)
        return :repeated if count(reports, now) >= REPORTS
        return unless ill_since

        left = ill_since + @timeout - now
        left.positive? ? left : :lasting
      end

      # How many of them count now.
      def count(reports, now) #: (Array[Float], Float) -> Integer
        last = nil
        reports.count do |at|
          counts = at > now - @timeout && (last.nil? || at - last >= @spacing)
          last = at if counts
          counts
        end
      end
    end
  end
end
