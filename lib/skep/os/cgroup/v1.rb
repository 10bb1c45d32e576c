# frozen_string_literal: true

require "skep/os/cgroup/paths"

module Skep
  module OS
    class Cgroup
      # A group of version 1's hierarchy for memory. It has no `high`, and counts no stalls.
      class V1
        NONE = 1 << 62 # what stands for no limit is the largest number that pages can make
        private_constant :NONE

        attr_reader :directory #: String

        #: (String? directory, String? top) -> V1?
        def self.at(directory, top)
          return unless directory

          found = Paths.upwards(directory, top)
                       .find { |path| File.exist?("#{path}/memory.usage_in_bytes") }
          found && new(found, top)
        end

        #: (String directory, String top) -> void
        def initialize(directory, top)
          @directory = directory
          @top = top
        end

        #: () -> Integer?
        def current
          used = Paths.number("#{directory}/memory.usage_in_bytes") or return
          used - (Paths.field("#{directory}/memory.stat", "total_inactive_file") || 0)
        end

        #: () -> Integer?
        def limit
          limits = Paths.upwards(directory, @top).filter_map do |path|
            Paths.number("#{path}/memory.limit_in_bytes")
          end
          limits.select { |bytes| bytes < NONE }.min
        end

        #: () -> nil
        def high = nil

        #: () -> Integer?
        def oom_kills = Paths.field("#{directory}/memory.oom_control", "oom_kill")

        #: () -> nil
        def stalled = nil
      end
    end
  end
end
