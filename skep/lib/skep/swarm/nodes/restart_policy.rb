# frozen_string_literal: true

# Decides whether and when an exited node restarts. Pure: takes facts and a time, returns a
# decision.
#
#   policy = RestartPolicy.new(slot.options)
#   policy.decide(Exited.new(deaths: [1.0, 2.0], clean: false, exitstatus: nil), 2.0)
#   # => 0.0: restart at once; or the seconds to wait
#   # => :done: don't restart
#   # => :give_up: a crash loop with on_crash_loop: :stop
#   policy.crash_loop?(deaths, now)   # is it a crash loop, whose restarts wait?
#
# The first `max_restarts` exits within `restart_window` seconds are restarted at once (OTP's
# intensity and period). The next ones wait 0.1 s x 2^k, at most 30 s, with a jitter of 20% so
# that nodes don't restart in lockstep.
#
# | how it ended | what follows |
# |---|---|
# | nil | as above |
# | :beside_the_work: a helper's or spare's | as above, at least 0.1 s; never done, nor given up |
# | :refused: it said that it can't begin | as above, at least 1 s; no crash, so without limit |
# | :became_mold: it lives on | at once, or after the backoff |
# | :unforked: its mold ended before | as if `restart` were :always |
# | :retired: it was stopped to be replaced | the same |
# | :left_for_quiet: its work was told of the quiet, and left | at `resume`, whatever `restart` is |
# | :left_for_past_quiet: the same, and `resume` came first | as if `restart` were :always |
# | :quiet: well while the swarm is quiet, and untold | with :always at `resume`; else it is done |
module Skep
  class Swarm
    module Nodes
      class RestartPolicy
        # deaths: monotonic times of the slot's exits of the last one's kind (at boot or at work),
        # including the last. clean: exited with status 0, without a request to stop.
        # exitstatus: nil if skep ended it. how: see above.
        Exited = Struct.new(:deaths, :clean, :exitstatus, :how, keyword_init: true)

        FIRST = 0.1
        LONGEST = 30.0
        JITTER = 0.2
        LEAST = { beside_the_work: 0.1, refused: 1.0, became_mold: 0.0 }.freeze
        private_constant :FIRST, :LONGEST, :JITTER, :LEAST

        def initialize(options, random: Random)
          @options = options
          @random = random
        end

        def decide(exited, now)
          return Float::INFINITY if at_resume?(exited.how)

          least = least(exited.how)
          return [delay(exited.deaths, now), least].max if least
          return :done unless restart?(exited)

          delay = delay(exited.deaths, now)
          delay.positive? && @options.on_crash_loop == :stop ? :give_up : delay
        end

        # Returns the seconds to wait before the next start; 0.0 means at once.
        def delay(deaths, now)
          excess = recent(deaths, now) - @options.max_restarts
          excess.positive? ? backoff(excess - 1) : 0.0
        end

        def crash_loop?(deaths, now) = recent(deaths, now) > @options.max_restarts

        private

        def at_resume?(how)
          how == :left_for_quiet || (how == :quiet && @options.restart == :always)
        end

        # Returns the least seconds to wait where the swarm's policy doesn't matter.
        def least(how)
          LEAST[how] unless how == :refused && @options.restart == :never
        end

        # Returns how many of the exits, oldest first, are within restart_window.
        def recent(deaths, now)
          first = deaths.bsearch_index { |time| time > now - @options.restart_window }
          first ? deaths.size - first : 0
        end

        def restart?(exited)
          return true if %i[unforked retired left_for_past_quiet].include?(exited.how)
          return false if @options.never_restart_on&.include?(exited.exitstatus)

          @options.restart == :always || (@options.restart == :on_failure && !exited.clean)
        end

        def backoff(steps)
          exact = [FIRST * (2**[steps, 20].min), LONGEST].min
          [exact * (1 + (JITTER * ((2 * @random.rand) - 1))), LONGEST].min
        end
      end
    end
  end
end
