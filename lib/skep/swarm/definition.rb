# frozen_string_literal: true

# What the user has declared: a swarm's options and where its status socket is.
#
# Config is the checked whole, with the table of options. Loader finds the swarm in a file.
# RunDirectory is the directory of status sockets.
module Skep
  class Swarm
    module Definition
    end
  end
end

require "skep/swarm/definition/run_directory"
require "skep/swarm/definition/config"
require "skep/swarm/definition/loader"
