# frozen_string_literal: true

# What the processes of a swarm share: the channel and its messages, the scoreboard, crash suspects.
#
# Channel carries frames and descriptors; Messages checks each; Scoreboard is the page in shared
# memory.
module Skep
  class Swarm
    module IPC
    end
  end
end

require "skep/swarm/ipc/plain_data"
require "skep/swarm/ipc/channel"
require "skep/swarm/ipc/messages"
require "skep/swarm/ipc/connection"
require "skep/swarm/ipc/scoreboard/layout"
require "skep/swarm/ipc/scoreboard/memory_sample"
require "skep/swarm/ipc/scoreboard/heartbeat"
require "skep/swarm/ipc/crash_suspects"
require "skep/swarm/ipc/exit_status"
require "skep/swarm/ipc/scoreboard/reader"
