# frozen_string_literal: true

# Tells which of the processes that were killed by KILL were killed for want of memory.
#
#   kills = OomKills.new(OS::Cgroup.of)
#   kills.name?(exit)    # is this one of them? Call once for each end that wasn't ours
#   kills.forget         # those that nobody was found for were no nodes
#
# The kernel tells neither the dead nor their parent why. It counts its kills, those of the
# control group or of the whole machine, and counts before it kills: as many deaths by KILL as
# it has counted were its doing.
module Skep
  class Swarm
    module Health
      class OomKills
        include Runtime::Persisted

        KEPT = %i[named seen].freeze
        REASON = "oom"

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
