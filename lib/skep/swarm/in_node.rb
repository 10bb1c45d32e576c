# frozen_string_literal: true

# What runs inside a node, a spare or the helper.
#
# NodeMain is the life of a node; ControlThread listens to the supervisor; HelperMain runs the
# users' event blocks.
module Skep
  class Swarm
    module InNode
    end
  end
end

require "skep/swarm/in_node/interruptible_wait"
require "skep/swarm/in_node/known_suspects"
require "skep/swarm/in_node/thread_context"
require "skep/swarm/in_node/thread_dump"
require "skep/swarm/in_node/control_thread"
require "skep/swarm/in_node/helper_main"
require "skep/swarm/in_node/standby_wait"
require "skep/swarm/in_node/node_main"
require "skep/swarm/in_node/inline_runner"
