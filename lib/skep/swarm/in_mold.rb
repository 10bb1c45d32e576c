# frozen_string_literal: true

# What runs inside a mold.
#
# MoldMain loads the application and warms it up. ForkServer forks nodes from it and reports how
# they end.
module Skep
  class Swarm
    module InMold
    end
  end
end

require "skep/swarm/in_mold/fork_server"
require "skep/swarm/in_mold/mold_main"
