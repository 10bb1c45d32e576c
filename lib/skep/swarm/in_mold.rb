# frozen_string_literal: true

# What runs inside a mold.
#
# MoldMain loads the application; ForkServer forks nodes from it and tells their ends.
module Skep
  class Swarm
    module InMold
    end
  end
end

require "skep/swarm/in_mold/preforked_child"
require "skep/swarm/in_mold/fork_server"
require "skep/swarm/in_mold/mold_main"
require "skep/swarm/in_mold/heap_size_hint"
