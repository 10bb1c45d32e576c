# frozen_string_literal: true

# Decides which partitions are stalled. A partition is stalled if it has messages, has room for
# them, and its offset hasn't changed for `stall_timeout`.
#
#   detector = StallDetector.new(60, start: :beginning)
#   detector.observe({ ["orders", 3] => 42 }, now)   # each waits for messages from there
#   detector.unobserved(now)                       # it isn't known which do
#   detector.waiting                               # => [["orders", 3]]: ask where these end
#   detector.stalls({ ["orders", 3] => 50 }, now)  # => [Stall]: 8 messages for 60 seconds
#   detector.behind({ ["orders", 3] => 50 }, now, 30)   # the same, for 30 seconds
#   detector.fetched(["orders", 3], 50, now)       # what is before 50 holds no messages
#   detector.seconds_left(now)                     # => 60: until the next one is stalled; nil
#   detector.restart(now)                          # nothing before now counts
#
# Not thread-safe.
module Skep
  module Kafka
    class Consumer
      class StallDetector
        # offset: what is to be read next, nil if unknown; fetched: the offset before which
        # librdkafka has found no more messages; since: when the partition last moved, or was at its
        # end; behind: whether it had more messages when its end was known last.
        Watch = Struct.new(:offset, :fetched, :since, :behind)

        # key: topic and partition; seconds: since when.
        Stall = Struct.new(:key, :offset, :end_offset, :seconds)

        private_constant :Watch

        # timeout: seconds. start: where a group without a committed offset begins, :beginning or
        # :end; nil if it doesn't.
        def initialize(timeout, start:)
          @timeout, @start = timeout, start
          @watches = {}
        end

        # waiting: topic and partition => the offset to read next, of those that wait for messages.
        def observe(waiting, now)
          @observed_at = now
          @watches.select! { |key, watch| waiting.key?(key) && waiting[key] == watch.offset }
          waiting.each { |key, offset| @watches[key] ||= Watch.new(offset, nil, now) }
        end

        # It isn't known which partitions wait: the time since the last observation doesn't count.
        def unobserved(now)
          passed = now - (@observed_at || now)
          @watches.each_value { |watch| watch.since += passed }
          @observed_at = now
        end

        # The partitions that waited for messages at the last observation.
        def waiting = @watches.keys

        # ends: topic and partition => its end, of partitions whose brokers have answered. A
        # partition without an answer isn't stalled: its broker is away.
        def stalls(ends, now)
          @watches.each { |key, watch| note_end(watch, ends[key], now) }
          behind(ends, now, @timeout)
        end

        # Returns those that have had more messages for so many seconds when `stalls` was called.
        def behind(ends, now, seconds)
          late = @watches.select { |_, watch| watch.behind && now - watch.since >= seconds }
          late.map { |key, watch| Stall.new(key, watch.offset, ends[key], now - watch.since) }
        end

        # librdkafka has fetched all that is before that offset.
        def fetched(key, offset, now)
          watch = @watches[key] or return
          watch.fetched = offset
          watch.since = now
          watch.behind = false
        end

        # Seconds until the first partition is stalled that had more messages when `stalls` was
        # called last; nil if none had.
        def seconds_left(now)
          since = @watches.each_value.select(&:behind).map(&:since).min
          since && [since + @timeout - now, 0].max
        end

        # What came before doesn't count: no broker has answered, or this process was stopped.
        def restart(now) = @watches.each_value { |watch| watch.since = now }

        def inspect = "#<Skep::Kafka::Consumer::StallDetector #{@timeout} s>"

        private

        # A partition without a committed offset begins at its first known end, unless a group
        # begins at the beginning.
        def note_end(watch, end_offset, now)
          return watch.since = now unless end_offset

          watch.fetched ||= end_offset if watch.offset.nil? && @start != :beginning
          watch.behind = end_offset > [watch.offset, watch.fetched, 0].compact.max
          watch.since = now unless watch.behind
        end
      end
    end
  end
end
