# frozen_string_literal: true

require "etc"
require "skep/os/cgroup/v1"
require "skep/os/cgroup/v2"

# The control group that a process' memory is counted in, and what that allows; and how much
# processor time its group may use.
#
#   cgroup = Skep::OS::Cgroup.of(pid)   # nil where no group counts memory
#   cgroup.current     # bytes in use, the cache of files that could be dropped left out
#   cgroup.limit       # bytes from which on the kernel kills; nil: none
#   cgroup.high        # bytes from which on it slows down; nil: none
#   cgroup.oom_kills   # how many processes of the group an OOM killer has ended so far
#   cgroup.stalled     # seconds that a process of it has waited for memory so far; nil: not counted
#   Skep::OS::Cgroup.oom_kills   # of the whole machine
#   Skep::OS::Cgroup.stalled     # on the whole machine
#   Skep::OS::Cgroup.cpu_quota   # => 1.5, processors that this group may use; nil: no quota
#   Skep::OS::Cgroup.processors  # => 2, processors that this process may use
#
# Limits are the least of the group and those above it, as far as they can be seen from here.
# Source: https://docs.kernel.org/admin-guide/cgroup-v2.html, cgroup-v1/memory.html, and
# https://docs.kernel.org/scheduler/sched-bwc.html.
module Skep
  module OS
    class Cgroup
      # A line of /proc/self/mountinfo, as far as it matters here.
      Mount = Struct.new(:root, :path, :type, :options) do
        #: (String line) -> Mount
        def self.of(line)
          place, source = line.split(" - ", 2)
          type, _device, options = source.split(" ", 3)
          new(*place.split.values_at(3, 4), type, options.strip.split(","))
        end

        # Where a group of that name lies. What a namespace hides is out of reach.
        #
        #: (String group) -> String
        def directory(group)
          inside = root == "/" ? group : group.delete_prefix(root)
          inside.include?("..") ? path : File.join(path, inside).chomp("/")
        end

        # Is it a hierarchy of that version which may have that controller?
        #
        #: (Symbol version, String controller) -> bool
        def of?(version, controller)
          return type == "cgroup2" if version == :v2

          type == "cgroup" && options.include?(controller)
        end
      end
      private_constant :Mount

      class << self
        #: (?Integer pid, ?proc: String) -> (V1 | V2)?
        def of(pid = Process.pid, proc: "/proc")
          v1, v2 = places(pid, "memory", proc)
          V1.at(*v1) || V2.at(*v2)
        rescue Errno::ENOENT, Errno::ESRCH, Errno::EACCES
          nil # Dead, no /proc, or groups that are none of ours to see.
        end

        # The least of the quotas of this process' group and of those above it.
        #
        #: (?proc: String) -> Float?
        def cpu_quota(proc: "/proc")
          v1, v2 = places("self", "cpu", proc)
          [*V1.cpu_quotas(*v1), *V2.cpu_quotas(*v2)].min
        rescue SystemCallError
          nil # No /proc, or no descriptor to look with.
        end

        # Returns how many processors this process may use: those of its affinity, and at most the
        # CPU quota of its group, rounded up.
        #
        #: (?affinity: Integer, ?quota: Float?) -> Integer
        def processors(affinity: Etc.nprocessors, quota: cpu_quota)
          [affinity, *quota&.ceil].min.clamp(1..)
        end

        # Since the machine has started; nil where it isn't counted (Linux 4.13).
        #
        #: (?vmstat: String) -> Integer?
        def oom_kills(vmstat: "/proc/vmstat")
          File.read(vmstat)[/^oom_kill (\d+)/, 1]&.to_i
        rescue Errno::ENOENT, Errno::EMFILE, Errno::ENFILE
          nil
        end

        # nil where it isn't counted (Linux 4.20, and it may be switched off).
        #
        #: (?pressure: String) -> Float?
        def stalled(pressure: "/proc/pressure/memory") = Paths.stalled(pressure)

        private

        # The directory of the process' group and the top of its hierarchy, in version 1 of this
        # controller and in version 2; [nil, nil] where it is in none.
        def places(pid, controller, proc)
          groups = groups(File.read("#{proc}/#{pid}/cgroup"), controller)
          mounts = File.readlines("#{proc}/self/mountinfo").map { |line| Mount.of(line) }
          %i[v1 v2].map do |version|
            mount = mounts.find { |one| one.of?(version, controller) }
            mount && groups[version] ? [mount.directory(groups[version]), mount.path] : [nil, nil]
          end
        end

        # The group's name in the hierarchy of each version.
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
