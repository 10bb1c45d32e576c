# frozen_string_literal: true

# The page in shared memory on which processes and their threads report themselves.
#
#   layout = Scoreboard::Layout.new(nodes: 4, threads: 5)     # where each writes
#   heartbeat = Scoreboard::Heartbeat.new(page, layout.of(3, thread: 2))   # a thread's writer
#   reader = Scoreboard::Reader.new(page, layout)             # the supervisor's side
#   Scoreboard::MemorySample.find(page, layout.memory(3))     # a node's count of its own pages
#   Scoreboard::HandlerRecords.new(page, layout, 3)           # what handlers do, for other nodes
#
# Each cell has one writer, so there is no lock. A node can write anything there: the readers accept
# whatever they find.
module Skep
  class Swarm
    module IPC
      module Scoreboard
        # A thread's last heartbeat: its cell, its number (0: the process itself), when it was, and
        # until when no beat is due. Monotonic seconds.
        ThreadStatus = Struct.new(:cell, :thread, :at, :busy_until)
      end
    end
  end
end

require "skep/swarm/ipc/scoreboard/layout"
require "skep/swarm/ipc/scoreboard/heartbeat"
require "skep/swarm/ipc/scoreboard/reader"
require "skep/swarm/ipc/scoreboard/memory_sample"
require "skep/swarm/ipc/scoreboard/handler_record"
require "skep/swarm/ipc/scoreboard/handler_records"
