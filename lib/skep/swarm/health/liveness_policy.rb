# frozen_string_literal: true

# Judges whether a node still makes progress. Pure: facts and a time in, a verdict out.
#
#   liveness = LivenessPolicy.new(timeout: 30.0)
#   liveness.verdict([ThreadStatus.new(cell, 0, at, busy_until)], now)
#   # => 10.0: fine, look again in so many seconds; or the ThreadStatus of the thread that is hung
#   liveness.patience(0.003)   # => 0.03: how long who is overdue is given to prove the contrary
#
# A node is as alive as the worst of its threads: none excuses another.
module Skep
  class Swarm
    module Health
      class LivenessPolicy
        # How often a timeout who waits beats. Who then begins to work has all of it nevertheless.
        BEATS = 2.5
        LEAST_PATIENCE = 0.02
        MISTRUST = 10
        private_constant :LEAST_PATIENCE, :MISTRUST

        # What is known of one thread: its cell, its number (0: the node's own), when it last made
        # progress or got something to make progress with, and until when it owes none. Monotonic
        # seconds; busy_until 0 where nothing was declared.
        attr_reader :timeout #: Float

        def initialize(timeout:) #: (timeout: Float) -> void
          @timeout = timeout
        end

        #: (Array[ThreadStatus], Float) -> (Float | ThreadStatus)
        def verdict(scoreboard, now)
          first = scoreboard.min_by { |sign| deadline(sign) }
          left = deadline(first) - now
          left.positive? ? left : first
        end

        # For how long has it owed a sign?
        def overdue(sign, now) = now - deadline(sign) #: (ThreadStatus, Float) -> Float

        # Who looks too late has perhaps been stopped, together with those it looks at: the later,
        # the longer they are given.
        #: (Float) -> Float
        def patience(late) = [[late * MISTRUST, timeout].min, LEAST_PATIENCE].max

        # So late that nothing of before counts?
        def slept?(late) = late * MISTRUST >= timeout #: (Float) -> bool

        private

        def deadline(sign) = [sign.at + timeout, sign.busy_until].max
      end

      # What the supervisor's own absence excuses: while it was stopped, frozen or starved, its
      # nodes may have been, too. Pure.
      #
      #   pause_compensation = PauseCompensation.new
      #   pause_compensation.over(from, now, statuses)   # it looked then, is back now, finds these
      #   pause_compensation.excuse(sign)                # => the Sign, as it counts from now on
      #
      # Nobody's silence began before it was back, and what a node had declared is owed that much
      # later.
      class PauseCompensation
        include Runtime::Persisted

        KEPT = %i[back_at].freeze

        def initialize #: () -> void
          @back_at = 0.0
          @longer = {}
        end

        def dump = { **super, "longer" => @longer.to_a } #: () -> Hash[String, untyped]

        def restore(plain) #: (Hash[String, untyped]) -> self
          @longer = plain["longer"].to_h
          super
        end

        #: (Float, Float, Array[IPC::Scoreboard::ThreadStatus]) -> void
        def over(from, back_at, scoreboard)
          @longer = scoreboard.filter_map do |sign|
            owed = excuse(sign).busy_until
            [sign.cell, [sign.busy_until, owed + back_at - from]] if owed > from
          end.to_h
          @back_at = back_at
        end

        #: (IPC::Scoreboard::ThreadStatus) -> IPC::Scoreboard::ThreadStatus
        def excuse(sign)
          declared, longer = @longer[sign.cell]
          busy_until = declared == sign.busy_until ? longer : sign.busy_until
          IPC::Scoreboard::ThreadStatus.new(sign.cell, sign.thread, since(sign.at), busy_until)
        end

        def since(time) = [time, @back_at].max #: (Float) -> Float
      end
    end
  end
end
