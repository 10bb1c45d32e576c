# frozen_string_literal: true

# `skep profile`: where the nodes of a swarm spend their time.
#
# In a node, NodeProfiler takes samples and aggregates them by stack (StackTable), each with the
# Label of what its thread works on. In the supervisor, ProfileCollector asks the nodes and waits
# for their profiles. Control::Profile merges them, in the process that has asked.
module Skep
  class Swarm
    module Profiling
      MAX_SECONDS = 300
      BYTES = 4 * 1024 * 1024 # of all nodes' profiles together
      NODE_BYTES = 256 * 1024 # of one node's
    end
  end
end

require "skep/swarm/profiling/label"
require "skep/swarm/profiling/stack_table"
require "skep/swarm/profiling/node_profiler"
require "skep/swarm/profiling/profile_collector"
