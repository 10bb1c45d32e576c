# frozen_string_literal: true

# What runs inside the processes that the supervisor keeps.
#
# In a mold, MoldMain loads the application and warms it up; ForkServer forks nodes from it and
# reports how they end. In a node or a spare, NodeMain runs the work while ControlThread handles
# signals and messages. The helper runs HelperMain. InlineRunner is one node in the foreground,
# without a fork.
module Skep
  class Swarm
    module Processes
      # What a user's hook may raise without an effect on the process that runs it. `exit` in a hook
      # must not look like the end of the work.
      HOOK_ERRORS = [UserError, SystemExit].freeze
    end
  end
end

require "skep/swarm/processes/interruptible_wait"
require "skep/swarm/processes/known_suspects"
require "skep/swarm/processes/thread_context"
require "skep/swarm/processes/around_handler"
require "skep/swarm/processes/rails_hook"
require "skep/swarm/processes/thread_dump"
require "skep/swarm/processes/control_thread"
require "skep/swarm/processes/supervisor_query"
require "skep/swarm/processes/helper_main"
require "skep/swarm/processes/standby_wait"
require "skep/swarm/processes/fault_injection"
require "skep/swarm/processes/node_main"
require "skep/swarm/processes/inline_runner"
require "skep/swarm/processes/preforked_child"
require "skep/swarm/processes/fork_server"
require "skep/swarm/processes/mold_main"
