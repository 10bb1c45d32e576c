# frozen_string_literal: true

# Extends the nodes' deadlines after a pause of the supervisor. While the supervisor was stopped,
# frozen or starved, its nodes may have been, too. Pure.
#
#   pause_compensation = PauseCompensation.new
#   pause_compensation.extend_deadlines(from, back_at, statuses)
#   pause_compensation.apply(status)   # => the ThreadStatus with its deadlines extended
#
# No heartbeat counts as older than the end of the pause. A `busy` declaration is extended by the
# time since the last check before it.
module Skep
  class Swarm
    module Health
      class PauseCompensation
        def initialize
          @back_at = 0.0
          @extended = {}
        end

        # from: the last check before the pause. back_at: the first after it.
        def extend_deadlines(from, back_at, statuses)
          @extended = statuses.filter_map do |status|
            busy_until = apply(status).busy_until
            [status.cell, [status.busy_until, busy_until + back_at - from]] if busy_until > from
          end.to_h
          @back_at = back_at
        end

        def apply(status)
          declared, extended = @extended[status.cell]
          busy_until = declared == status.busy_until ? extended : status.busy_until
          IPC::Scoreboard::ThreadStatus.new(status.cell, status.thread, since(status.at),
                                            busy_until)
        end

        # Returns the time, or the end of the pause if that is later.
        def since(time) = [time, @back_at].max
      end
    end
  end
end
