# frozen_string_literal: true

# Keeps the memory of nodes within `memory_limit` and `memory_budget`, and their age within
# `max_lifetime`.
#
# MemoryMeter runs in each node, and measures it. MemoryMonitor and MemoryBudget compare, and give
# nodes a reason to be replaced. CgroupMemory reads the control group.
module Skep
  class Swarm
    module Memory
    end
  end
end

require "skep/swarm/memory/memory_meter"
require "skep/swarm/memory/node_memory"
require "skep/swarm/memory/cgroup_memory"
require "skep/swarm/memory/memory_budget"
require "skep/swarm/memory/memory_monitor"
