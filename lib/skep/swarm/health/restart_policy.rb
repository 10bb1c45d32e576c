# frozen_string_literal: true

# Judges whether and when a node that ended starts again. Pure: facts and a time in, a verdict out.
#
#   policy = RestartPolicy.new(config)
#   policy.verdict(Exited.new(deaths: [1.0, 2.0], clean: false, exitstatus: nil), 2.0)
#   # => 0.0: at once, or more seconds to wait
#   # => :done: it isn't to start again
#   # => :give_up: a crash loop, on_crash_loop: :stop
#   policy.at_once?([1.0], 2.0)   # would one more death be answered at once?
#
# `restarts` endings within `restarts_within` seconds are replaced at once; from the next on it
# waits 0.1 s x 2^k, give or take 20% so that nodes don't march in step, at most 30 s.
# (OTP's intensity and period.)
module Skep
  class Swarm
    module Health
      class RestartPolicy
        # deaths: monotonic times of this node's endings, the last one included;
        # clean: it ended of its own will, status 0.
        Exited = Struct.new(:deaths, :clean, :exitstatus, keyword_init: true)

        FIRST = 0.1
        LONGEST = 30.0
        JITTER = 0.2
        private_constant :FIRST, :LONGEST, :JITTER

        def initialize(config, random: Random) #: (Definition::Config, ?random: untyped) -> void
          @config = config
          @random = random
        end

        def verdict(ending, now) #: (Exited, Float) -> (Float | :done | :give_up)
          return :done unless again?(ending)

          delay = delay(ending.deaths, now)
          delay.positive? && @config.on_crash_loop == :stop ? :give_up : delay
        end

        # How long to wait before the next start; 0.0 is at once.
        def delay(deaths, now) #: (Array[Float], Float) -> Float
          excess = recent(deaths, now) - @config.restarts
          excess.positive? ? backoff(excess - 1) : 0.0
        end

        # Would one more death, now, be answered at once?
        def at_once?(deaths, now) #: (Array[Float], Float) -> bool
          recent(deaths, now) < @config.restarts
        end

        private

        # How many of the deaths, oldest first, still count.
        def recent(deaths, now)
          first = deaths.bsearch_index { |time| time > now - @config.restarts_within }
          first ? deaths.size - first : 0
        end

        def again?(ending)
          return false if @config.restart_never_status&.include?(ending.exitstatus)

          @config.restart == :always || (@config.restart == :on_failure && !ending.clean)
        end

        def backoff(steps)
          exact = [FIRST * (2**[steps, 20].min), LONGEST].min
          [exact * (1 + (JITTER * ((2 * @random.rand) - 1))), LONGEST].min
        end
      end
    end
  end
end
