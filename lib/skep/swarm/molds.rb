# frozen_string_literal: true

# The supervisor's molds: start, restart, what they say.
#
# MoldPool is the whole; Mold one process; MoldLauncher starts it by exec or by fork.
module Skep
  class Swarm
    module Molds
    end
  end
end

require "skep/swarm/molds/mold"
require "skep/swarm/molds/mold_launcher"
require "skep/swarm/molds/mold_messages"
require "skep/swarm/molds/mold_pool"
