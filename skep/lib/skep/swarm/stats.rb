# frozen_string_literal: true

# Statistics of a swarm for its status and metrics.
#
# Histogram is log-linear, and histograms of several nodes can be merged. WorkTotals adds up what
# nodes report as done. RecoveryTimes measures how long slots are without a working node.
module Skep
  class Swarm
    module Stats
    end
  end
end

require "skep/swarm/stats/histogram"
require "skep/swarm/stats/work_totals"
require "skep/swarm/stats/recovery_times"
