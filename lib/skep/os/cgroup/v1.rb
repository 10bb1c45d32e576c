# frozen_string_literal: true

require "skep/os/cgroup/group"

module Skep
  module OS
    class Cgroup
      # A group of version 1's memory hierarchy. It has no `high`.
      class V1 < Group
        USED, KILLS = "memory.usage_in_bytes", "memory.oom_control"
        NONE = 1 << 62 # The kernel shows no limit as about 2 ** 63.
        private_constant :NONE

        # Returns the quota and its period in microseconds; a quota of -1 is none.
        def self.cpu_bandwidth(path)
          %w[cpu.cfs_quota_us cpu.cfs_period_us].map { |file| Paths.number("#{path}/#{file}") }
        end

        def limit = numbers("memory.limit_in_bytes").select { |bytes| bytes < NONE }.min

        def high = nil
      end
    end
  end
end
