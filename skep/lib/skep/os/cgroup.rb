# frozen_string_literal: true

require "etc"

# The control group of a process: its memory limits, its OOM kills and its CPU quota.
#
#   cgroup = Skep::OS::Cgroup.of(pid)   # nil if no group counts memory
#   cgroup.limit       # bytes from which on the OOM killer acts; nil: none
#   cgroup.high        # bytes from which on the kernel throttles; nil: none
#   cgroup.oom_kills   # processes of the group that the OOM killer has killed so far
#   Skep::OS::Cgroup.oom_kills   # of the whole machine
#   Skep::OS::Cgroup.cpu_quota   # => 1.5, processors that this group may use; nil: no quota
#   Skep::OS::Cgroup.processors  # => 2, processors that this process may use
#
# A limit is the lowest of the group's and its ancestors', as far as this namespace shows them.
# Source: https://docs.kernel.org/admin-guide/cgroup-v2.html, cgroup-v1/memory.html, and
# https://docs.kernel.org/scheduler/sched-bwc.html.
module Skep
  module OS
    class Cgroup
      # A mount, from a line of /proc/self/mountinfo.
      Mount = Struct.new(:root, :path, :type, :options) do
        def self.of(line)
          place, source = line.split(" - ", 2)
          type, _device, options = source.split(" ", 3)
          new(*place.split.values_at(3, 4), type, options.strip.split(","))
        end

        # Returns the directory of a group; of one that a namespace hides, the mount itself.
        def directory(group)
          inside = root == "/" ? group : group.delete_prefix(root)
          inside.include?("..") ? path : File.join(path, inside).chomp("/")
        end

        # Returns true if it is a hierarchy of that version that may have that controller.
        def of?(version, controller)
          return type == "cgroup2" if version == V2

          type == "cgroup" && options.include?(controller)
        end
      end

      # The names of a version's files. `cpu` has the quota and its period, in microseconds.
      Version = Struct.new(:used, :limit, :high, :kills, :cpu, keyword_init: true)

      # Version 1's hierarchies, one for each controller.
      V1 = Version.new(used: "memory.usage_in_bytes", limit: "memory.limit_in_bytes",
                       kills: "memory.oom_control",
                       cpu: %w[cpu.cfs_quota_us cpu.cfs_period_us]).freeze

      # Version 2's unified hierarchy.
      V2 = Version.new(used: "memory.current", limit: "memory.max", high: "memory.high",
                       kills: "memory.events", cpu: %w[cpu.max]).freeze
      NONE = 1 << 62 # Version 1 shows no limit as about 2 ** 63, version 2 as "max".
      private_constant :Mount, :Version, :V1, :V2, :NONE

      class << self
        # Not every group counts memory: it stands for the nearest ancestor that does.
        def of(pid = Process.pid, proc: "/proc")
          found = [V1, V2].filter_map do |version|
            groups = directories(version, pid, "memory", proc)
            groups = groups.drop_while { |path| !File.exist?("#{path}/#{version.used}") }
            new(version, groups) if groups.any?
          end
          found.first
        rescue Errno::ENOENT, Errno::ESRCH, Errno::EACCES
          nil # Dead, no /proc, or no permission.
        end

        # Returns the lowest quota of this process' group and its ancestors.
        def cpu_quota(proc: "/proc")
          quotas = [V1, V2].flat_map do |version|
            directories(version, "self", "cpu", proc).filter_map { |path| quota(version, path) }
          end
          quotas.min
        rescue SystemCallError
          nil # No /proc, or no descriptor is left.
        end

        # Returns how many processors this process may use: those of its affinity, and at most the
        # CPU quota of its group, rounded up.
        def processors(affinity: Etc.nprocessors, quota: cpu_quota)
          [affinity, *quota&.ceil].min.clamp(1..)
        end

        # Returns which limit decides #processors: "affinity", or "cpu_quota" if that is lower.
        def processors_from(affinity: Etc.nprocessors, quota: cpu_quota)
          processors(affinity:, quota:) < affinity ? "cpu_quota" : "affinity"
        end

        # Returns the OOM kills since the machine has booted; nil before Linux 4.13.
        def oom_kills(vmstat: "/proc/vmstat") = text(vmstat)[/^oom_kill (\d+)/, 1]&.to_i

        # Returns "" if the group is gone, the kernel lacks the file, or no descriptor is left.
        def text(path)
          OS.machine.read(path)
        rescue SystemCallError
          ""
        end

        # Returns the words of a file as numbers; nil for other words.
        def numbers(path) = text(path).split.map { |word| Integer(word, 10, exception: false) }

        private

        # Returns the quota in processors; nil without one, which is -1 or "max".
        def quota(version, path)
          quota, period = version.cpu.flat_map { |file| numbers("#{path}/#{file}") }
          quota.fdiv(period) if quota&.positive? && period&.positive?
        end

        # Returns the directories of the process' group and of its ancestors in that version's
        # hierarchy, up to where it is mounted; none if there is no such group.
        def directories(version, pid, controller, proc)
          group = group(version, controller, OS.machine.read("#{proc}/#{pid}/cgroup"))
          mounts = File.foreach("#{proc}/self/mountinfo").lazy.map { |line| Mount.of(line) }
          mount = mounts.find { |one| one.of?(version, controller) }
          return [] unless group && mount

          found = [mount.directory(group)]
          found << File.dirname(found.last) while found.last.start_with?("#{mount.path}/")
          found
        end

        def group(version, controller, text)
          groups = text.lines.map { |line| line.chomp.split(":", 3) }
          groups.find do |number, controllers, _name|
            version == V2 ? number == "0" : controllers.split(",").include?(controller)
          end&.last
        end
      end

      def initialize(version, groups)
        @version = version
        @groups = groups
      end

      def directory = @groups.first

      def limit = least(@version.limit)

      def high = @version.high && least(@version.high)

      def oom_kills
        Cgroup.text("#{directory}/#{@version.kills}")[/^oom_kill (\d+)$/, 1]&.to_i
      end

      private

      # Returns the lowest number in that file of this group and its ancestors.
      def least(file)
        numbers = @groups.flat_map { |path| Cgroup.numbers("#{path}/#{file}") }
        numbers.compact.reject { |bytes| bytes >= NONE }.min
      end
    end
  end
end
