# frozen_string_literal: true

# The `unhealthy!` reports of a node since it was last healthy, and what they prove.
#
#   unhealthy_reports.add("database gone", now)
#   unhealthy_reports.reason                # => "database gone", of the last report
#   unhealthy_reports.verdict(since, now, 30.0)   # since: of a report without progress after it
#   # => :repeated or :lasting: the node is unhealthy
#   # => 10.0: check again in 10 s; nil: it is healthy
#
# A single report doesn't make a node unhealthy. It is unhealthy after REPORTS reports within the
# timeout and no `healthy!` in between, or if for a whole timeout neither progress nor `healthy!`
# follows a report. Reports closer together than SPACING of the timeout count once.
module Skep
  class Swarm
    module Health
      class UnhealthyReports
        REPORTS = 3
        SPACING = 0.1
        TOLERANCE = 0.9 # nodes space their reports by SPACING; clocks differ
        MOST = 20
        private_constant :REPORTS, :TOLERANCE, :MOST

        attr_reader :reason

        def initialize
          @times = []
        end

        def any? = @times.any?
        def size = @times.size

        def add(reason, now)
          @reason = reason
          @times.shift if @times.size == MOST
          @times << now
        end

        def clear
          @times = []
          @reason = nil
        end

        def verdict(unhealthy_since, now, timeout)
          return :repeated if count(now, timeout) >= REPORTS
          return unless unhealthy_since

          left = unhealthy_since + timeout - now
          left.positive? ? left : :lasting
        end

        # Returns how many of the reports count now.
        def count(now, timeout)
          last = -Float::INFINITY
          @times.count do |at|
            counts = at > now - timeout && at - last >= timeout * SPACING * TOLERANCE
            last = at if counts
            counts
          end
        end
      end
    end
  end
end
