# frozen_string_literal: true

# Decides whether a node still makes progress. Takes facts and a time, returns a decision.
#
#   liveness = LivenessPolicy.new(timeout: 30.0)
#   liveness.decide([ThreadStatus.new(cell, 0, at, busy_until)], now)
#   # => 10.0: no thread is overdue, check again in 10 s; or the ThreadStatus of the overdue thread
#   liveness.grace(0.003)   # => 0.03: the grace period of an overdue node, in seconds
#
#   liveness.extend_deadlines(from, back_at, statuses)   # the supervisor has been paused
#
# A node hangs if any of its threads does, even if all others make progress.
#
# While the supervisor was stopped, frozen or starved, its nodes may have been, too. So no heartbeat
# counts as older than the end of the last pause, and a `busy` declaration is extended by the time
# since the last check before it.
module Skep
  class Swarm
    module Health
      class LivenessPolicy
        # How often an idle node beats in a timeout. A handler that starts then still has the full
        # timeout.
        BEATS = 2.5
        MIN_GRACE = 0.02
        LATENESS_FACTOR = 10
        private_constant :MIN_GRACE, :LATENESS_FACTOR

        attr_reader :timeout

        def initialize(timeout:)
          @timeout = timeout
          @back_at = 0.0
          @extended = {} # by cell: what was declared, and what counts
        end

        def decide(statuses, now)
          first = statuses.map { |status| corrected(status) }.min_by { |status| deadline(status) }
          left = deadline(first) - now
          left.positive? ? left : first
        end

        # Returns the seconds until the thread is slow: it has made no progress for half of the
        # timeout, and the time that it has declared is over. Not positive: it is.
        def seconds_to_slow(status, now)
          status = corrected(status)
          [status.at + (timeout / 2), status.busy_until].max - now
        end

        # Returns the seconds since the thread's deadline.
        def overdue(status, now) = now - deadline(status)

        # A check that comes late may mean that the nodes were paused, too. So the later the check,
        # the longer the grace period.
        def grace(late) = [[late * LATENESS_FACTOR, timeout].min, MIN_GRACE].max

        # Returns true if a check comes so late that the supervisor must have been paused. Then the
        # heartbeats from before the pause are not considered.
        def paused?(late) = late * LATENESS_FACTOR >= timeout

        # from: the last check before the pause. back_at: the first after it.
        def extend_deadlines(from, back_at, statuses)
          @extended = statuses.filter_map do |status|
            busy_until = corrected(status).busy_until
            [status.cell, [status.busy_until, busy_until + back_at - from]] if busy_until > from
          end.to_h
          @back_at = back_at
        end

        # Returns the time, or the end of the last pause if that is later.
        def since(time) = [time, @back_at].max

        private

        def corrected(status)
          declared, extended = @extended[status.cell]
          busy_until = declared == status.busy_until ? extended : status.busy_until
          IPC::Scoreboard::ThreadStatus.new(status.cell, status.thread, since(status.at),
                                            busy_until)
        end

        def deadline(status) = [status.at + timeout, status.busy_until].max
      end
    end
  end
end
