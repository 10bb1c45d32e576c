# frozen_string_literal: true

# Changes to a running swarm: restart, reload, refork, scale, one at a time.
#
# ChangeCoordinator starts them, and refuses a second one. RollingUpdate is the state machine of the
# first three; Reload and Refork say where its new mold comes from.
module Skep
  class Swarm
    module Rollout
    end
  end
end

require "skep/swarm/rollout/rolling_update"
require "skep/swarm/rollout/reload"
require "skep/swarm/rollout/canary_policy"
require "skep/swarm/rollout/refork"
require "skep/swarm/rollout/change_coordinator"
