# frozen_string_literal: true

# What the processes of a swarm share: channels and their messages, the scoreboard, crash suspects.
#
# Channel carries frames and descriptors; Connection serves one from an event loop. Messages is the
# table of all messages, PlainData what may be in them, Arguments checks what users pass. Scoreboard
# is the page in shared memory. CrashSuspects counts what was in flight when nodes crashed.
# ProgressPages are those on which work notes how far it is.
module Skep
  class Swarm
    module IPC
    end
  end
end

require "skep/swarm/ipc/plain_data"
require "skep/swarm/ipc/channel"
require "skep/swarm/ipc/connection"
require "skep/swarm/ipc/work_facts"
require "skep/swarm/ipc/arguments"
require "skep/swarm/ipc/messages"
require "skep/swarm/ipc/exit_status"
require "skep/swarm/ipc/scoreboard"
require "skep/swarm/ipc/crash_suspects"
require "skep/swarm/ipc/progress_pages"
