# frozen_string_literal: true

module Skep
  module OS
    class Cgroup
      # A group of the one hierarchy that version 2 has. Not every group counts memory: it is the
      # nearest one that does.
      class V2
        attr_reader :directory #: String

        #: (String? directory, String? top) -> V2?
        def self.at(directory, top)
          return unless directory

          found = Paths.upwards(directory, top)
                       .find { |path| File.exist?("#{path}/memory.current") }
          found && new(found, top)
        end

        #: (String directory, String top) -> void
        def initialize(directory, top)
          @directory = directory
          @top = top
        end

        #: () -> Integer?
        def current
          used = Paths.number("#{directory}/memory.current") or return
          used - (Paths.field("#{directory}/memory.stat", "inactive_file") || 0)
        end

        #: () -> Integer?
        def limit = least("memory.max")

        #: () -> Integer?
        def high = least("memory.high")

        #: () -> Integer?
        def oom_kills = Paths.field("#{directory}/memory.events", "oom_kill")

        #: () -> Float?
        def stalled = Paths.stalled("#{directory}/memory.pressure")

        private

        # "max" is no number: no limit.
        def least(file)
          Paths.upwards(directory, @top).filter_map { |path| Paths.number("#{path}/#{file}") }.min
        end
      end
    end
  end
end
