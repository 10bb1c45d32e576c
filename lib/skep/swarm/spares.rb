# frozen_string_literal: true

# Nodes that have booted and wait: each takes the slot of one that dies.
#
# SparePool is the supervisor's side; SpareSlot the place of a spare.
module Skep
  class Swarm
    module Spares
    end
  end
end

require "skep/swarm/spares/spare_slot"
require "skep/swarm/spares/spare_pool"
