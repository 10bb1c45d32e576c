# frozen_string_literal: true

# The supervisor's slots and the processes in them.
#
# Slot has the facts about a node's place, SlotPolicy decides what is to be done for it, and
# NodePool does it. NodeProcess is one process.
module Skep
  class Swarm
    module Nodes
    end
  end
end

require "skep/swarm/nodes/restart_history"
require "skep/swarm/nodes/slot_pages"
require "skep/swarm/nodes/slot"
require "skep/swarm/nodes/helper_slot"
require "skep/swarm/nodes/spare_slot"
require "skep/swarm/nodes/slot_policy"
require "skep/swarm/nodes/restart_policy"
require "skep/swarm/nodes/fork_backoff"
require "skep/swarm/nodes/budget"
require "skep/swarm/nodes/waiting_slots"
require "skep/swarm/nodes/node_process"
require "skep/swarm/nodes/node_table"
require "skep/swarm/nodes/launcher"
require "skep/swarm/nodes/stop_barrier"
require "skep/swarm/nodes/node_messages"
require "skep/swarm/nodes/node_exits"
require "skep/swarm/nodes/node_pool"
