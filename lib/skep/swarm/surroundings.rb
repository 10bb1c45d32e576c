# frozen_string_literal: true

# The memory around the swarm: what its control group allows, whether it runs short, and whom the
# kernel has killed for it.
#
#   surroundings = Surroundings.new(OS::Cgroup.of, told: ->(name, level, facts) { … })
#   surroundings.within(:memory_limit, 8 << 30)   # => no more than the group allows
#   surroundings.look(now)         # cheap, and made at most each 10 seconds
#   surroundings.oom?(exit)        # was that an OOM kill?
module Skep
  class Swarm
    class Surroundings
      PAUSE = 10.0
      PART = 0.95 # of what the group allows: past it the kernel is about to kill
      private_constant :PAUSE, :PART

      def initialize(cgroup, told:) #: (untyped, told: Proc) -> void
        @cgroup = cgroup
        @told = told
        @kills = OomKills.new(cgroup)
        @pressure = MemoryPressure.new
        @next_at = 0.0
      end

      def emit(name, level, facts) = @told.call(name, level, facts)
      def oom?(exit) = @kills.name?(exit) #: (Exit) -> bool

      # An option's bytes, and a word if they are more than can be had.
      def within(option, bytes) #: (Symbol, Integer?) -> Integer?
        allowed = [@cgroup&.limit, @cgroup&.high].compact.min
        return bytes unless bytes && allowed && bytes > allowed * PART

        lower = (allowed * PART).floor
        emit(:memory_lowered, :warn,
             { option:, bytes: lower, asked: bytes, cgroup: allowed,
               message: "its control group allows less, the kernel would kill first" })
        lower
      end

      def look(now) #: (Float) -> void
        return if now < @next_at

        @next_at = now + PAUSE
        @kills.forget
        short = @pressure.verdict(**facts, now:)
        emit(:memory_pressure, :warn, short) if short
      end

      def keep = @kills.keep #: () -> Hash[String, untyped]
      def recall(plain) = @kills.recall(plain) #: (Hash[String, untyped]) -> void

      def inspect = "#<#{self.class} #{@cgroup&.directory || "no control group"}>" #: () -> String

      private

      def facts
        { stalled: @cgroup&.stalled || OS::Cgroup.stalled, current: @cgroup&.current,
          limit: @cgroup&.limit }
      end
    end
  end
end
