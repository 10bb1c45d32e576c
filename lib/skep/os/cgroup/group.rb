# frozen_string_literal: true

require "skep/os/cgroup/paths"

module Skep
  module OS
    class Cgroup
      # What groups of both versions have in common; V1 and V2 name the files. Not every group
      # counts memory: it stands for the nearest ancestor that does.
      class Group
        attr_reader :directory

        def self.at(directory, top)
          return unless directory

          found = Paths.upwards(directory, top).find { |path| File.exist?("#{path}/#{self::USED}") }
          found && new(found, top)
        end

        # Returns the quota, in processors, of each group from this directory up that has one.
        def self.cpu_quotas(directory, top)
          return [] unless directory

          Paths.upwards(directory, top).filter_map do |path|
            quota, period = cpu_bandwidth(path)
            quota.fdiv(period) if quota&.positive? && period&.positive?
          end
        end

        def initialize(directory, top)
          @directory = directory
          @top = top
        end

        def oom_kills = Paths.field("#{directory}/#{self.class::KILLS}", "oom_kill")

        private

        # Returns the numbers in that file of this group and its ancestors.
        def numbers(file)
          Paths.upwards(directory, @top).filter_map { |path| Paths.number("#{path}/#{file}") }
        end
      end
      private_constant :Group
    end
  end
end
