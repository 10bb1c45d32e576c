# frozen_string_literal: true

# How long to wait where the system has refused a process or a descriptor. Pure: the caller knows
# the time.
#
#   backoff = ForkBackoff.new
#   backoff.refused(now)   # => 0.1, then 0.2, … at most 5.0: the seconds until the next try
#   backoff.refused(now)   # => nil within them: that one had been asked for before
#   backoff.over?(now)     # returns true once one may be tried
#   backoff.granted        # the system has given one: the next refusal is the first again
#
# What one process lacks the others lack, too: so one backoff is for all of them, and as long as it
# isn't `granted`, one process is tried at a time.
module Skep
  class Swarm
    module Nodes
      class ForkBackoff
        FIRST = 0.1
        LONGEST = 5.0
        private_constant :FIRST, :LONGEST

        attr_reader :retry_at # when the next one may be tried

        def initialize = granted

        def granted
          @refusals = 0
          @retry_at = 0.0
        end

        def refused(now)
          return unless over?(now)

          seconds = [FIRST * (2**[@refusals, 10].min), LONGEST].min
          @refusals += 1
          @retry_at = now + seconds
          seconds
        end

        def refused? = @refusals.positive?
        def over?(now) = now >= @retry_at
      end
    end
  end
end
