# frozen_string_literal: true

# Says how long to wait before a failed batch is retried: twice as long each time, up to a
# limit. Jitter keeps nodes from retrying at the same time.
#
#   RetryBackoff.new(0.1).seconds(1)    # => 0.1 s ±20%, after the first failure
#   RetryBackoff.new(0.1).seconds(20)   # => 30 s at most, or `max`
#   RetryBackoff.new(0.1).seconds(20, limit: 1.5)   # => 1.5 s at most, or the first backoff
#   RetryBackoff.spread                 # => 0.8 to 1.2, the jitter
#
# RetryPolicy chooses the limit; Processing::BackoffQueue holds what waits.
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

        def self.spread(random = Random) = 1 + random.rand(-SPREAD..SPREAD)

        def initialize(base, max: LIMIT)
          @base, @max = base, max
        end

        # The seconds after so many failures of the same message. limit: the maximum, unless the
        # first backoff is longer; least: the minimum, up to the limit.
        def seconds(failures, limit: @max, least: 0, spread: RetryBackoff.spread)
          plain = [@base * (2.0**[failures - 1, 60].min), least].max
          [plain * spread, [limit, @base * spread].max, @max].min
        end
      end
    end
  end
end
