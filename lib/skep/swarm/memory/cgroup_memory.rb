# frozen_string_literal: true

# The memory around the swarm: what its control group allows, whether it runs short, and whom the
# kernel has killed for it.
#
#   cgroup_memory = CgroupMemory.new(OS::Cgroup.of, events: bus)
#   cgroup_memory.within(:memory_limit, 8 << 30)   # => no more than the group allows
#   cgroup_memory.look(now)                        # cheap, and made at most each 10 seconds
#   cgroup_memory.oom?(exit)                       # was that an OOM kill?
module Skep
  class Swarm
    module Memory
      class CgroupMemory
        PAUSE = 10.0
        PART = 0.95 # of what the group allows: past it the kernel is about to kill
        LOWERED = "its control group allows less, the kernel would kill first"
        private_constant :PAUSE, :PART, :LOWERED

        def initialize(cgroup, events:) #: (untyped, events: Runtime::EventBus) -> void
          @cgroup = cgroup
          @events = events
          @kills = OomKills.new(cgroup)
          @pressure = MemoryPressure.new
          @next_at = 0.0
        end

        def oom?(exit) = @kills.name?(exit) #: (IPC::ExitStatus) -> bool

        # An option's bytes, and a word if they are more than can be had.
        def within(option, bytes) #: (Symbol, Integer?) -> Integer?
          allowed = [@cgroup&.limit, @cgroup&.high].compact.min
          return bytes unless bytes && allowed && bytes > allowed * PART

          lower = (allowed * PART).floor
          @events.publish(:memory_lowered, level: :warn, option:, bytes: lower, asked: bytes,
                                           cgroup: allowed, message: LOWERED)
          lower
        end

        def look(now) #: (Float) -> void
          return if now < @next_at

          @next_at = now + PAUSE
          @kills.forget
          short = @pressure.verdict(**facts, now:)
          @events.publish(:memory_pressure, level: :warn, **short) if short
        end

        def dump = @kills.dump #: () -> Hash[String, untyped]
        def restore(plain) = @kills.restore(plain) #: (Hash[String, untyped]) -> void

        def inspect = "#<#{self.class} #{@cgroup&.directory || "no control group"}>" #: () -> String

        private

        def facts
          { stalled: @cgroup&.stalled || OS::Cgroup.stalled, current: @cgroup&.current,
            limit: @cgroup&.limit }
        end
      end

      # Judges whether memory runs short around the swarm. It remembers the last look and touches
      # nothing.
      #
      #   pressure = MemoryPressure.new
      #   pressure.verdict(stalled: 1.5, current: 900, limit: 1000, now: 10.0)
      #   # => nil, or once at the beginning of a shortage { stalled: 0.12, current: …, limit: … }
      #
      # Short is where processes have waited for memory for a tenth of the time since the last look
      # (PSI, https://docs.kernel.org/accounting/psi.html), or where the control group is nearly
      # full.
      class MemoryPressure
        STALLED = 0.1
        FULL = 0.95
        private_constant :STALLED, :FULL

        # stalled: seconds of waiting so far, nil: not counted; current and limit in bytes, nil:
        # none.
        #: (stalled: Float?, current: Integer?, limit: Integer?, now: Float)
        #:   -> Hash[Symbol, untyped]?
        def verdict(stalled:, current:, limit:, now:)
          part = part(stalled, now)
          @stalled, @at = stalled, now
          was, @short = @short, part >= STALLED || full?(current, limit)
          { stalled: part.round(3), current:, limit: }.compact if @short && !was
        end

        private

        def part(stalled, now)
          stalled && @stalled && now > @at ? (stalled - @stalled) / (now - @at) : 0.0
        end

        def full?(current, limit) = current && limit ? current >= limit * FULL : false
      end

      # Tells which of the processes that were killed by KILL were killed for want of memory.
      #
      #   kills = OomKills.new(OS::Cgroup.of)
      #   kills.name?(exit)    # is this one of them? Call once for each end that wasn't ours
      #   kills.forget         # those that nobody was found for were no nodes
      #
      # The kernel tells neither the dead nor their parent why. It counts its kills, those of the
      # control group or of the whole machine, and counts before it kills: as many deaths by KILL as
      # it has counted were its doing.
      class OomKills
        include Runtime::Persisted

        KEPT = %i[named seen].freeze

        def initialize(cgroup) #: (untyped) -> void
          @cgroup = cgroup
          @named = @seen = count
        end

        def name?(exit) #: (IPC::ExitStatus) -> bool
          return false unless exit.signal == "KILL" && @named && (count || 0) > @named

          @named += 1
          true
        end

        # Kills counted since the call before last are too old to be a node's whose end comes now.
        def forget #: () -> void
          @named, @seen = [@named, @seen].max, count if @named
        end

        private

        def count = @cgroup ? @cgroup.oom_kills : OS::Cgroup.oom_kills
      end
    end
  end
end
