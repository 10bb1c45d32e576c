# frozen_string_literal: true

# Detects nodes that hang or report that they are unhealthy, and finds what crashes nodes.
#
# LivenessMonitor reads the scoreboard. LivenessPolicy and UnhealthyReports decide whether a node
# has failed. HungNodeKiller reports what a failed node was doing and ends it. CrashAttribution
# records which items were in flight when nodes crashed.
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
require "skep/swarm/health/hung_node_killer"
