# frozen_string_literal: true

require "skep/os/cgroup/paths"

module Skep
  module OS
    class Cgroup
      # What a group of either version answers; how its files are called is each one's own.
      # Not every group counts memory: it is the nearest one that does.
      class Group
        attr_reader :directory #: String

        #: (String? directory, String? top) -> Group?
        def self.at(directory, top)
          return unless directory

          found = Paths.upwards(directory, top).find { |path| File.exist?("#{path}/#{self::USED}") }
          found && new(found, top)
        end

        # Processors that each group from this directory up may use, of those with a quota.
        #
        #: (String? directory, String? top) -> Array[Float]
        def self.cpu_quotas(directory, top)
          return [] unless directory

          Paths.upwards(directory, top).filter_map do |path|
            quota, period = cpu_bandwidth(path)
            quota.fdiv(period) if quota&.positive? && period&.positive?
          end
        end

        #: (String directory, String top) -> void
        def initialize(directory, top)
          @directory = directory
          @top = top
        end

        #: () -> Integer?
        def current
          used = Paths.number("#{directory}/#{self.class::USED}") or return
          used - (Paths.field("#{directory}/memory.stat", self.class::CACHE) || 0)
        end

        #: () -> Integer?
        def oom_kills = Paths.field("#{directory}/#{self.class::KILLS}", "oom_kill")

        private

        # The numbers of that file here and above, as far as it has any.
        def numbers(file)
          Paths.upwards(directory, @top).filter_map { |path| Paths.number("#{path}/#{file}") }
        end
      end
      private_constant :Group
    end
  end
end
