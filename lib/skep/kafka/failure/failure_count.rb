# frozen_string_literal: true

# Counts the failures of a batch, and of the message in it that failed. Pure.
#
#   failures = FailureCount.new
#   failures.begin_try(partition.last_success)
#   failures.add(41, OS.now)   # the handler raised at offset 41; nil: it isn't known where
#   failures.count             # => 1, failures of the batch
#   failures.number            # => 1, failures in a row of that message
#   failures.alone             # => 0, failures in tries that began after others had succeeded
#   failures.since             # => when it failed first, in monotonic seconds
#   failures.outage_since      # => since when nothing of the partition has succeeded
#
# A batch of many messages may fail at another message each time: `count` decides when its messages
# are tried one by one, `number` is what events report and what the backoff goes by.
#
# Whether the message is bad or what its handler depends on is away shows in the other messages of
# its partition: where one of those was begun, and succeeded, after the first failure and before a
# try, that try counts against the message (`alone`).
#
# Parts of a batch inherit `outage_since` from it, even those that have not failed themselves: how
# long a dependency has been away doesn't depend on how far a batch is divided.
module Skep
  module Kafka
    module Failure
      class FailureCount
        attr_reader :count #: Integer, of the batch
        attr_reader :number #: Integer, in a row of the message that failed last
        attr_reader :alone #: Integer, although others had succeeded
        attr_reader :since #: Float?, monotonic seconds
        attr_reader :outage_since #: Float?, monotonic seconds

        # since: when the batch failed first that this one was part of.
        #: (?since: Float?, ?outage_since: Float?) -> void
        def initialize(since: nil, outage_since: nil)
          @count = @number = @alone = 0
          @since = since
          @outage_since = outage_since
        end

        # A try begins. success: when the last of the partition's messages that succeeded was begun.
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

        def inspect
          "#<Skep::Kafka::Failure::FailureCount count=#{count} alone=#{alone}>"
        end #: () -> String
      end
    end
  end
end
