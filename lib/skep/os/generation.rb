# frozen_string_literal: true

require "skep/os/generation/twin"

# Which process of its lineage this is.
#
#   Skep::OS::Generation.pid     # => Integer, cached
#   Skep::OS::Generation.count   # => forks since the process that loaded skep; 0 there
#
# A fork is noticed at the next call, by whatever means it was made (Process.daemon and a raw
# clone(2) too); several between two calls count once. It runs no callback: that is the fork room's.
module Skep
  module OS
    module Generation
      @pid = Process.pid
      @count = 0
      extend Twin
    end
  end
end
