# frozen_string_literal: true

# One change to all nodes at a time: restart, reload, refork, scale.
#
# ChangeCoordinator lets one change run; RollingRestart replaces slot by slot; CanaryRollout tries a
# new mold first.
module Skep
  class Swarm
    module Rollout
    end
  end
end

require "skep/swarm/rollout/rolling_restart"
require "skep/swarm/rollout/canary_rollout"
require "skep/swarm/rollout/reload"
require "skep/swarm/rollout/refork"
require "skep/swarm/rollout/change_coordinator"
