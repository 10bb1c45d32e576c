# frozen_string_literal: true

# Whether a node is alive and well, and why one isn't.
#
# LivenessMonitor looks at the scoreboard; LivenessPolicy and UnhealthyPolicy judge; HangDiagnosis
# finds out where a node is stuck.
module Skep
  class Swarm
    module Health
    end
  end
end

require "skep/swarm/health/liveness_policy"
require "skep/swarm/health/unhealthy_reports"
require "skep/swarm/health/crash_attribution"
require "skep/swarm/health/liveness_monitor"
require "skep/swarm/health/hang_diagnosis"
