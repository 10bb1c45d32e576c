# frozen_string_literal: true

require "skep/os/cgroup/group"

module Skep
  module OS
    class Cgroup
      # A group of version 1's hierarchy for memory. It has no `high`, and counts no stalls.
      class V1 < Group
        USED, CACHE, KILLS = "memory.usage_in_bytes", "total_inactive_file", "memory.oom_control"
        NONE = 1 << 62 # what stands for no limit is the largest number that pages can make
        private_constant :NONE

        #: () -> Integer?
        def limit = numbers("memory.limit_in_bytes").select { |bytes| bytes < NONE }.min

        #: () -> nil
        def high = nil

        #: () -> nil
        def stalled = nil
      end
    end
  end
end
