# frozen_string_literal: true

# What every process of a swarm needs from the system.
#
# SelfPipe makes signals readable. OrphanGuard ends molds and nodes whose supervisor has died.
# SocketActivation passes systemd's sockets to nodes.
# EventBus, ErrorGuard and StateMachine serve the supervisor's components: they publish facts and
# bugs, and change state by a table.
module Skep
  class Swarm
    module Runtime
    end
  end
end

require "skep/swarm/runtime/state_machine"
require "skep/swarm/runtime/error_guard"
require "skep/swarm/runtime/event_bus"
require "skep/swarm/runtime/self_pipe"
require "skep/swarm/runtime/orphan_guard"
require "skep/swarm/runtime/socket_activation"
