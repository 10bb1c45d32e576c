# frozen_string_literal: true

# Counts the failures of a batch, and of the message in it that failed.
#
#   failures = FailureCount.new
#   failures.begin_try(partition.last_success)
#   failures.add(41, OS.now)   # the handler raised at offset 41; nil: it isn't known where
#   failures.count             # => 1, failures of the batch
#   failures.number            # => 1, failures in a row of that message
#   failures.own_failures      # => 0, failures after other messages had succeeded
#   failures.since             # => when it failed first, in monotonic seconds
#   failures.outage_since      # => since when no other message has succeeded, if that counts
#
# A batch of many messages may fail at another message each time: `count` decides when its
# messages are tried one by one. Events report `number`, and the backoff depends on it.
#
# Other messages show whether the message is bad, or a dependency of its handler is
# unavailable. If one of them was tried, and succeeded, after the first failure and before a
# try, that try counts against the message (`own_failures`). If it was of another partition,
# later tries count only as long as OutageEvidence says so.
#
# Parts of a batch inherit `outage_since`, even those that have not failed themselves: how
# long a dependency is unavailable doesn't depend on how a batch is split.
module Skep
  module Kafka
    module Failure
      class FailureCount
        attr_reader :count # of the batch
        attr_reader :number # in a row of the message that failed last
        attr_reader :own_failures # failures after other messages had succeeded
        attr_reader :offset # of the message that failed last; nil: it isn't known
        attr_reader :since # monotonic seconds
        attr_reader :outage_since # monotonic seconds

        # since: when the batch failed first of which this one is a part. count, own_failures,
        # offset: what another process has counted; restored: it has. same_partition: a success of
        # the partition itself has shown that there is no outage. first: when the first failure was
        # that counts. discounted: see `discount`.
        def initialize(since: nil, outage_since: nil, count: 0, own_failures: 0, offset: nil,
                       same_partition: own_failures.positive?, restored: false, first: since,
                       discounted: false)
          @same_partition = same_partition
          @restored, @first, @discounted = restored, first, discounted
          @count = @number = count
          @own_failures = own_failures
          @since = since
          @outage_since = outage_since
          @offset = offset
        end

        # Continues the count of another process for the message at that offset. plain: what `dump`
        # has returned there.
        def self.restore(offset, plain, now)
          count, own_failures, seconds = plain.map { |number| Integer(number) }
          new(since: now - seconds, count:, own_failures:, offset:, restored: true)
        end

        # Returns true if another process has tried it.
        def restored? = @restored

        # Returns what counts for a batch of one message: its failures, its own ones, and since how
        # many seconds.
        def dump(now) = [count, [against, 0].max, (now - since).round]

        # A count of its own for the message that failed last.
        def of_message
          FailureCount.new(since:, outage_since:, count: number, offset:,
                           own_failures: [own_failures, number].min,
                           same_partition: @same_partition, restored: @restored, first: @first,
                           discounted: @discounted)
        end

        # A try begins. success: when the last successful try of the partition began; nil: none was.
        # elsewhere: the same of all partitions of this process, unless that counts no more.
        def begin_try(success, elsewhere = nil)
          @same_partition ||= @first && success ? success > @first : false
          last = [success, elsewhere].compact.max
          @others = @same_partition || (@first && last ? last > @first : false)
          @outage_since = nil if outage_since && last && last > outage_since
        end

        def add(offset, now)
          @since ||= now
          @first ||= now
          @outage_since ||= now
          @count += 1
          @own_failures += 1 if @others
          @number = offset == @offset ? @number + 1 : 1
          @offset = offset
        end

        # The last failure doesn't count against the message, nor does the first one, which shows
        # nothing by itself.
        def discount
          @own_failures -= 1 if @others
          @discounted = true
        end

        # How many failures after the first one count against the message.
        def against = own_failures - (@discounted ? 1 : 0)

        # It was an outage until now: what has failed so far doesn't count.
        def begin_anew(now)
          @first, @same_partition = now, false
          @own_failures = 0
        end

        # The process was ill: the message has no failures.
        def clear(now)
          begin_anew(now)
          @count = @number = 0
        end

        def inspect
          "#<Skep::Kafka::Failure::FailureCount count=#{count} own_failures=#{own_failures}>"
        end
      end
    end
  end
end
