# frozen_string_literal: true

# The limit and the OOM kills of the swarm's control group.
#
#   cgroup_memory = CgroupMemory.new(OS::Cgroup.of, events: bus)
#   cgroup_memory.within(:memory_limit, 8 << 30)   # => no more than the control group allows
#   cgroup_memory.oom?(exit)                       # returns true for an OOM kill
#   cgroup_memory.expire_kills(now)                # kills counted long ago were of other processes
#
# The kernel doesn't report to a parent why its child was killed. But it counts its OOM kills, of
# the control group or of the whole machine, before it kills. So each counted kill explains one exit
# by SIGKILL.
module Skep
  class Swarm
    module Memory
      class CgroupMemory
        EXPIRE_EVERY = 10.0
        USABLE = 0.95 # share of the group's limit; close to the limit the kernel kills processes
        LOWERED = "its control group allows less, the kernel would kill first"
        private_constant :EXPIRE_EVERY, :USABLE, :LOWERED

        # cgroup: an OS::Cgroup, nil if no group counts memory.
        def initialize(cgroup, events:)
          @cgroup = cgroup
          @events = events
          @matched = @seen = kills
          @expire_at = 0.0
        end

        # Returns an option's bytes, lowered to what the control group allows. Publishes
        # memory_lowered if they are.
        def within(option, bytes)
          allowed = [@cgroup&.limit, @cgroup&.high].compact.min
          return bytes unless bytes && allowed && bytes > allowed * USABLE

          lower = (allowed * USABLE).floor
          @events.publish(:memory_lowered, level: :warn, option:, bytes: lower, asked: bytes,
                                           cgroup: allowed, error: LOWERED)
          lower
        end

        # To be called once for each exit that the supervisor didn't cause.
        def oom?(exit)
          return false unless exit.signal == "KILL" && @matched && (kills || 0) > @matched

          @matched += 1
          true
        end

        # Drops the kills that were counted before the last time: exits that come now are later. A
        # counter that can't be read (its group is removed, no descriptor is left) has not changed.
        def expire_kills(now)
          return if @matched.nil? || now < @expire_at

          @expire_at = now + EXPIRE_EVERY
          @matched = [@matched, @seen].max
          @seen = kills || @seen
        end

        def inspect = "#<#{self.class} #{@cgroup&.directory || "no control group"}>"

        private

        def kills = @cgroup ? @cgroup.oom_kills : OS::Cgroup.oom_kills
      end
    end
  end
end
