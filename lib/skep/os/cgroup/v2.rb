# frozen_string_literal: true

require "skep/os/cgroup/group"

module Skep
  module OS
    class Cgroup
      # A group of version 2's unified hierarchy. A limit of "max" is none.
      class V2 < Group
        USED, KILLS = "memory.current", "memory.events"

        # Returns the quota and its period in microseconds; nil for "max".
        def self.cpu_bandwidth(path) = Paths.numbers("#{path}/cpu.max")

        def limit = numbers("memory.max").min

        def high = numbers("memory.high").min
      end
    end
  end
end
