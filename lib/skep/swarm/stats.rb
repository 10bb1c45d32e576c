# frozen_string_literal: true

# Figures about a swarm's life: durations, recovery times, totals of work.
#
# Histogram is log-linear and can be merged.
module Skep
  class Swarm
    module Stats
    end
  end
end

require "skep/swarm/stats/histogram"
require "skep/swarm/stats/work_totals"
require "skep/swarm/stats/recovery_times"
