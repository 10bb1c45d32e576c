# frozen_string_literal: true

# What runs inside a node, a spare or the helper.
#
# NodeMain runs the work, ControlThread handles signals and messages meanwhile. The helper runs
# HelperMain. InlineRunner is one node in the foreground, without a fork.
module Skep
  class Swarm
    module InNode
    end
  end
end

require "skep/swarm/in_node/known_suspects"
require "skep/swarm/in_node/thread_context"
require "skep/swarm/in_node/control_thread"
require "skep/swarm/in_node/helper_main"
require "skep/swarm/in_node/node_main"
require "skep/swarm/in_node/inline_runner"
