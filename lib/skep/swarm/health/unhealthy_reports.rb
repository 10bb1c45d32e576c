# frozen_string_literal: true

# The `unhealthy!` reports of a node since it was last healthy.
#
#   unhealthy_reports.add("database gone", now)
#   unhealthy_reports.reason   # => "database gone", of the last report
#   unhealthy_reports.times    # => [now]
module Skep
  class Swarm
    module Health
      class UnhealthyReports
        MOST = 20
        private_constant :MOST

        attr_reader :times
        attr_reader :reason

        def initialize
          @times = []
        end

        def any? = @times.any?

        def add(reason, now)
          @reason = reason
          @times.shift if @times.size == MOST
          @times << now
        end

        def clear
          @times = []
          @reason = nil
        end
      end
    end
  end
end
