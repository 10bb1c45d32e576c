# frozen_string_literal: true

# The supervisor's slots and the processes in them: launch, exit, restart, replacement.
#
# NodePool is the whole; Slot a node's place; NodeProcess one process; Restarter decides what
# follows an exit.
module Skep
  class Swarm
    module Nodes
    end
  end
end

require "skep/swarm/nodes/slot"
require "skep/swarm/nodes/helper_slot"
require "skep/swarm/nodes/node_process"
require "skep/swarm/nodes/replacements"
require "skep/swarm/nodes/node_messages"
require "skep/swarm/nodes/boot_queue"
require "skep/swarm/nodes/spare_pool"
require "skep/swarm/nodes/restarter"
require "skep/swarm/nodes/node_exits"
require "skep/swarm/nodes/node_pool"
