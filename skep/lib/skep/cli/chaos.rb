# frozen_string_literal: true

require "json"

# `skep chaos`: a Runner injects the faults of a Schedule into a TargetSwarm and follows the swarm's
# events; a Report is printed at the end. No process is signalled that isn't the swarm's: see
# TargetSwarm.
module Skep
  module CLI
    module Chaos
      # Chaos can't begin or continue. The message is the sentence to print.
      class Failed < Skep::Error
      end
    end
  end
end

require "skep/cli/chaos/schedule"
require "skep/cli/chaos/fault"
require "skep/cli/chaos/target_swarm"
require "skep/cli/chaos/report"
require "skep/cli/chaos/runner"
