# frozen_string_literal: true

# What a user's file says of a swarm: its options, its kinds of work, and how the file is loaded.
#
# Config is the checked whole; Options the table of options; Loader finds the swarm in a file.
module Skep
  class Swarm
    module Definition
    end
  end
end

require "skep/swarm/definition/options"
require "skep/swarm/definition/config"
require "skep/swarm/definition/work_spec"
require "skep/swarm/definition/loader"
