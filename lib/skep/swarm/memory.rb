# frozen_string_literal: true

# How much memory the nodes take, and what follows: limits, a budget, a greatest age.
#
# MemoryMonitor looks; the policies judge; Recycler replaces.
module Skep
  class Swarm
    module Memory
    end
  end
end

require "skep/swarm/memory/memory_limit_policy"
require "skep/swarm/memory/node_memory"
require "skep/swarm/memory/cgroup_memory"
require "skep/swarm/memory/recycler"
require "skep/swarm/memory/memory_budget"
require "skep/swarm/memory/memory_monitor"
