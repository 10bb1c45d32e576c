# frozen_string_literal: true

require "skep/os/cgroup/group"

module Skep
  module OS
    class Cgroup
      # A group of the one hierarchy that version 2 has. "max" is no number: no limit.
      class V2 < Group
        USED, CACHE, KILLS = "memory.current", "inactive_file", "memory.events"

        #: () -> Integer?
        def limit = numbers("memory.max").min

        #: () -> Integer?
        def high = numbers("memory.high").min

        #: () -> Float?
        def stalled = Paths.stalled("#{directory}/memory.pressure")
      end
    end
  end
end
