# frozen_string_literal: true

require "skep/os/cgroup/group"

module Skep
  module OS
    class Cgroup
      # A group of the one hierarchy that version 2 has. "max" is no number: no limit.
      class V2 < Group
        USED, CACHE, KILLS = "memory.current", "inactive_file", "memory.events"

        # Microseconds of processor time in each period of so many; nil for "max".
        #
        #: (String path) -> [Integer?, Integer?]
        def self.cpu_bandwidth(path) = Paths.numbers("#{path}/cpu.max")

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
