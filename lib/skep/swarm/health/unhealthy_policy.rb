# frozen_string_literal: true

# Decides whether a node is unhealthy, by its own reports (`node.unhealthy!`). Pure: takes facts and
# a time, returns a decision.
#
#   health = UnhealthyPolicy.new(timeout: 30.0)
#   health.decide([100.0, 104.0, 108.0], nil, 108.0)   # => :repeated
#   health.decide([100.0], 100.0, 130.0)               # => :lasting
#   health.decide([100.0], 100.0, 120.0)               # => 10.0: check again in 10 s
#   health.decide([100.0], nil, 120.0)                 # => nil: the node is healthy
#
# A single report doesn't make a node unhealthy. It is unhealthy after REPORTS reports within the
# timeout and no `healthy!` in between, or if for a whole timeout neither progress nor `healthy!`
# follows a report. Reports closer together than SPACING of the timeout count once.
module Skep
  class Swarm
    module Health
      class UnhealthyPolicy
        REPORTS = 3
        SPACING = 0.1

        def initialize(timeout:)
          @timeout = timeout
          # Nodes space their reports by SPACING; the tolerance is for differences between clocks.
          @spacing = timeout * SPACING * 0.9
        end

        # reports: times since the node was last healthy. unhealthy_since: time of the report that
        # neither progress nor `healthy!` has followed.
        def decide(reports, unhealthy_since, now)
          return :repeated if count(reports, now) >= REPORTS
          return unless unhealthy_since

          left = unhealthy_since + @timeout - now
          left.positive? ? left : :lasting
        end

        # Returns how many of the reports count now.
        def count(reports, now)
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
end
