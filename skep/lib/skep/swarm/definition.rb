# frozen_string_literal: true

# Reads and checks what the user has declared.
#
# Config checks all options and has the table of them. Work is a work with its options; WorkNames
# names works that have no name. EnvironmentOptions reads options from SKEP_* variables. Loader
# loads a swarm file. RunDirectory is the directory of control sockets, AbstractSocket replaces it
# where there can be none. Revision finds out which code is deployed.
module Skep
  class Swarm
    module Definition
    end
  end
end

require "skep/error_place"
require "skep/spelling"

require "skep/swarm/definition/invalid_description"
require "skep/swarm/definition/run_directory"
require "skep/swarm/definition/abstract_socket"
require "skep/swarm/definition/revision"
require "skep/swarm/definition/config"
require "skep/swarm/definition/work"
require "skep/swarm/definition/work_names"
require "skep/swarm/definition/environment_options"
require "skep/swarm/definition/loader"
