# frozen_string_literal: true

# The memory of the swarm's control group: its limit, memory pressure and OOM kills.
#
#   cgroup_memory = CgroupMemory.new(OS::Cgroup.of, events: bus)
#   cgroup_memory.within(:memory_limit, 8 << 30)   # => no more than the control group allows
#   cgroup_memory.check(now)                       # reads the pressure, every 10 seconds at most
#   cgroup_memory.oom?(exit)                       # returns true for an OOM kill
module Skep
  class Swarm
    module Memory
      class CgroupMemory
        CHECK_EVERY = 10.0
        USABLE = 0.95 # share of the group's limit; close to the limit the kernel kills processes
        LOWERED = "its control group allows less, the kernel would kill first"
        private_constant :CHECK_EVERY, :USABLE, :LOWERED

        def initialize(cgroup, events:)
          @cgroup = cgroup
          @stall_counter = cgroup&.stalled ? cgroup : OS::Cgroup # one of them: their sums differ
          @events = events
          @kills = OomKills.new(cgroup)
          @pressure = MemoryPressure.new
          @check_at = 0.0
        end

        def oom?(exit) = @kills.match?(exit)

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

        def check(now)
          return if now < @check_at

          @check_at = now + CHECK_EVERY
          @kills.expire
          short = @pressure.check(**facts, now:)
          @events.publish(:memory_pressure, level: :warn, **short) if short
        end

        def dump = @kills.dump
        def restore(plain) = @kills.restore(plain)

        def inspect = "#<#{self.class} #{@cgroup&.directory || "no control group"}>"

        private

        def facts
          { stalled: @stall_counter.stalled, current: @cgroup&.current, limit: @cgroup&.limit }
        end
      end

      # Detects memory pressure. It keeps the last sample, and reads nothing itself.
      #
      #   pressure = MemoryPressure.new
      #   pressure.check(stalled: 1.5, current: 900, limit: 1000, now: 10.0)
      #   # => { stalled: 0.12, current: …, limit: … } when the pressure begins, else nil
      #
      # There is pressure if processes were stalled on memory for a tenth of the time since the last
      # sample (PSI, https://docs.kernel.org/accounting/psi.html), or if the control group is nearly
      # full.
      class MemoryPressure
        STALLED = 0.1
        FULL = 0.95
        private_constant :STALLED, :FULL

        # stalled: total seconds that processes were stalled, nil where the kernel doesn't count
        # them. current and limit: in bytes, nil where there are none.
        def check(stalled:, current:, limit:, now:)
          share = stalled_share(stalled, now)
          @stalled, @at = stalled, now
          was, @short = @short, share >= STALLED || full?(current, limit)
          { stalled: share.round(3), current:, limit: }.compact if @short && !was
        end

        private

        def stalled_share(stalled, now)
          stalled && @stalled && now > @at ? (stalled - @stalled) / (now - @at) : 0.0
        end

        def full?(current, limit) = current && limit ? current >= limit * FULL : false
      end

      # Finds out which SIGKILLs were OOM kills.
      #
      #   kills = OomKills.new(OS::Cgroup.of)
      #   kills.match?(exit)   # call once for each exit that the supervisor didn't cause
      #   kills.expire         # kills counted long ago were of other processes
      #
      # The kernel doesn't report to a parent why its child was killed. But it counts its OOM kills,
      # of the control group or of the whole machine, before it kills. So each counted kill explains
      # one exit by SIGKILL.
      class OomKills
        include Runtime::Persisted

        KEPT = %i[matched seen].freeze

        def initialize(cgroup)
          @cgroup = cgroup
          @matched = @seen = count
        end

        def match?(exit)
          return false unless exit.signal == "KILL" && @matched && (count || 0) > @matched

          @matched += 1
          true
        end

        # Drops the kills that were counted before the last call: exits that come now are later. A
        # counter that can't be read (its group is removed, no descriptor is left) has not changed.
        def expire
          @matched, @seen = [@matched, @seen].max, count || @seen if @matched
        end

        private

        def count = @cgroup ? @cgroup.oom_kills : OS::Cgroup.oom_kills
      end
    end
  end
end
