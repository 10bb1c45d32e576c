# frozen_string_literal: true

require "etc"
require "skep/os/cgroup/v1"
require "skep/os/cgroup/v2"

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
          return type == "cgroup2" if version == :v2

          type == "cgroup" && options.include?(controller)
        end
      end
      private_constant :Mount

      class << self
        def of(pid = Process.pid, proc: "/proc")
          v1, v2 = places(pid, "memory", proc)
          V1.at(*v1) || V2.at(*v2)
        rescue Errno::ENOENT, Errno::ESRCH, Errno::EACCES
          nil # Dead, no /proc, or no permission.
        end

        # Returns the lowest quota of this process' group and its ancestors.
        def cpu_quota(proc: "/proc")
          v1, v2 = places("self", "cpu", proc)
          [*V1.cpu_quotas(*v1), *V2.cpu_quotas(*v2)].min
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
        def oom_kills(vmstat: "/proc/vmstat")
          OS.machine.read(vmstat)[/^oom_kill (\d+)/, 1]&.to_i
        rescue SystemCallError
          nil # No /proc, or no descriptor is left.
        end

        private

        # Returns the directory of the process' group and the top of its hierarchy, for version 1
        # of this controller and for version 2; [nil, nil] for a version without such a group.
        def places(pid, controller, proc)
          groups = groups(OS.machine.read("#{proc}/#{pid}/cgroup"), controller)
          mounts = File.readlines("#{proc}/self/mountinfo").map { |line| Mount.of(line) }
          %i[v1 v2].map do |version|
            mount = mounts.find { |one| one.of?(version, controller) }
            mount && groups[version] ? [mount.directory(groups[version]), mount.path] : [nil, nil]
          end
        end

        # Returns the name of the group in each version's hierarchy.
        def groups(text, controller)
          text.lines.map(&:chomp).each_with_object({}) do |line, found|
            number, controllers, name = line.split(":", 3)
            found[:v2] = name if number == "0"
            found[:v1] = name if controllers.split(",").include?(controller)
          end
        end
      end
    end
  end
end
