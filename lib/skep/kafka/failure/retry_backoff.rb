# frozen_string_literal: true

# How long to wait before a failed batch is retried: twice as long each time, up to a limit, with
# jitter, so that nodes don't retry at the same time.
#
#   RetryBackoff.new(0.1).seconds(1)    # => 0.1 s ±20%, after the first failure
#   RetryBackoff.new(0.1).seconds(20)   # => 30 s at most
#   RetryBackoff.new(0.1).seconds(20, limit: 1.5)   # => 1.5 s at most, or the first backoff
module Skep
  module Kafka
    module Failure
      class RetryBackoff
        LIMIT = 30.0
        # Maximum seconds between two tries of a partition of which nothing succeeds, so that the
        # end of an outage is noticed soon.
        OUTAGE_LIMIT = 1.5
        SPREAD = 0.2
        private_constant :SPREAD

        def initialize(base, random: Random) #: (Numeric, ?random: untyped) -> void
          @base = base
          @random = random
        end

        # The seconds after so many failures of the same message. limit: the maximum, but no less
        # than after the first failure; least: the minimum, within the limit.
        #: (Integer, ?limit: Float, ?least: Numeric) -> Float
        def seconds(failures, limit: LIMIT, least: 0)
          spread = 1 + @random.rand(-SPREAD..SPREAD)
          plain = [@base * (2.0**[failures - 1, 60].min), least].max
          [plain * spread, [limit, @base * spread].max, LIMIT].min
        end
      end
    end
  end
end
