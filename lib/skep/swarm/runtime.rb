# frozen_string_literal: true

# What every process of a swarm needs from the system: signals, privileges, sockets, the run
# directory.
#
# SelfPipe turns signals into IO; OrphanGuard ends who has lost its supervisor; NameLock holds the
# swarm's name.
module Skep
  class Swarm
    module Runtime
    end
  end
end

require "skep/swarm/runtime/event_bus"
require "skep/swarm/runtime/state_machine"
require "skep/swarm/runtime/persisted"
require "skep/swarm/runtime/secrets"
require "skep/swarm/runtime/run_directory"
require "skep/swarm/runtime/self_pipe"
require "skep/swarm/runtime/orphan_guard"
require "skep/swarm/runtime/privileges"
require "skep/swarm/runtime/socket_activation"
require "skep/swarm/runtime/name_lock"
require "skep/swarm/runtime/repeated_stop"
