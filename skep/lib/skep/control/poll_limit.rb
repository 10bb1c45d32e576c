# frozen_string_literal: true

# How often a client may ask a supervisor for its status, whatever happens meanwhile: so seldom that
# the supervisor spends at most a twentieth of its time on the answers.
#
#   limit = PollLimit.new
#   limit.answered(asked_at, now)   # the supervisor has answered
#   limit.at(now + 0.3)             # => that time, or the first one at which it may be asked again
#   limit.reset                     # it has ended: the next one has answered nothing yet
#
# It is LONGEST seconds at most: an answer may have taken long only because the supervisor was
# stopped meanwhile.
module Skep
  module Control
    class PollLimit
      COST = 20
      LONGEST = 30.0
      private_constant :COST, :LONGEST

      def initialize
        reset
      end

      def answered(asked_at, now)
        @not_before = now + [(now - asked_at) * COST, LONGEST].min
      end

      def at(time) = [time, @not_before].max

      def reset
        @not_before = 0.0
      end
    end
  end
end
