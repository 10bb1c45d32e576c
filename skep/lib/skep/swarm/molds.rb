# frozen_string_literal: true

# Mold processes as the supervisor sees them: start, restart, what they send.
#
# MoldPool keeps them all, Mold is the record of one, MoldLauncher starts one by exec or by fork.
module Skep
  class Swarm
    module Molds
    end
  end
end

require "skep/swarm/molds/mold"
require "skep/swarm/molds/heap_size_hint"
require "skep/swarm/molds/mold_launcher"
require "skep/swarm/molds/mold_pool"
