# frozen_string_literal: true

# This process' relation to its parent, its process group and its descendants.
#
# Prctl sets attributes: subreaper, parent-death signal. ParentDeathWatch ends this process some
# time after its parent died. ProcessGroup kills the rest of the group it leads. ForkProbe asks the
# kernel whether a fork would succeed.
module Skep
  module OS
    module ProcessTree
    end
  end
end

require "skep/os/process_tree/prctl"
require "skep/os/process_tree/parent_death_watch"
require "skep/os/process_tree/process_group"
require "skep/os/process_tree/fork_probe"
