# frozen_string_literal: true

# Counts the failures of a batch, and of the message in it that failed.
#
#   failures = FailureCount.new
#   failures.begin_try(partition.last_success)
#   failures.add(41, OS.now)   # the handler raised at offset 41; nil: it isn't known where
#   failures.count             # => 1, failures of the batch
#   failures.number            # => 1, failures in a row of that message
#   failures.alone             # => 0, failures of tries that began after others had succeeded
#   failures.since             # => when it failed first, in monotonic seconds
#   failures.outage_since      # => since when nothing of the partition has succeeded
#
# A batch of many messages may fail at another message each time: `count` decides when its messages
# are tried one by one. Events report `number`, and the backoff depends on it.
#
# The other messages of the partition show whether the message is bad, or a dependency of its
# handler is unavailable. If one of them was tried, and succeeded, after the first failure and
# before a try, that try counts against the message (`alone`).
#
# Parts of a batch inherit `outage_since`, even those that have not failed themselves: how long a
# dependency is unavailable doesn't depend on how a batch is split.
module Skep
  module Kafka
    module Failure
      class FailureCount
        attr_reader :count #: Integer, of the batch
        attr_reader :number #: Integer, in a row of the message that failed last
        attr_reader :alone #: Integer, although others had succeeded
        attr_reader :since #: Float?, monotonic seconds
        attr_reader :outage_since #: Float?, monotonic seconds

        # since: when the batch failed first of which this one is a part.
        #: (?since: Float?, ?outage_since: Float?) -> void
        def initialize(since: nil, outage_since: nil)
          @count = @number = @alone = 0
          @since = since
          @outage_since = outage_since
        end

        # A try begins. success: when the partition's last try that succeeded began.
        def begin_try(success) #: (Float?) -> void
          @others = since && success ? success > since : false
          @outage_since = nil if outage_since && success && success > outage_since
        end

        def add(offset, now) #: (Integer?, Float) -> void
          @since ||= now
          @outage_since ||= now
          @count += 1
          @alone += 1 if @others
          @number = offset == @offset ? @number + 1 : 1
          @offset = offset
        end

        def inspect #: () -> String
          "#<Skep::Kafka::Failure::FailureCount count=#{count} alone=#{alone}>"
        end
      end
    end
  end
end
