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

        # Microseconds of processor time in each period of so many; -1: as many as there are.
        #
        #: (String path) -> [Integer?, Integer?]
        def self.cpu_bandwidth(path)
          %w[cpu.cfs_quota_us cpu.cfs_period_us].map { |file| Paths.number("#{path}/#{file}") }
        end

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
