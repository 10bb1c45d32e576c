# frozen_string_literal: true

# Decides which partitions are stalled, and which cure comes next. A partition is stalled if it has
# messages, has room for them, and its offset hasn't changed for `stall_timeout`. The cures, in
# their order: fetching again from its offset (:seek), a new client (:new_client), and a new node
# (:new_node). A member that waits too long for an assignment gets the last two.
#
#   detector = StallDetector.new(60, join_timeout: 360, start: :beginning)
#   detector.observe({ ["orders", 3] => 42 }, assigned, now)   # each waits for messages from there
#   detector.unobserved(now)                       # it isn't known which do
#   detector.waiting                               # => [["orders", 3]]: ask where these end
#   detector.stalls({ ["orders", 3] => 50 }, now)  # => [Stall]: 8 messages for 60 seconds
#   detector.tried(stall, now)                     # its cure was carried out
#   detector.fetched(["orders", 3], 50, now)       # what is before 50 holds no messages
#   detector.seconds_left(now)                     # => 60: until the next one is stalled; nil
#   detector.take_ended                            # => [Stall]: these have moved since
#   detector.join_stall(true, now)                 # => Stall, or nil
#   detector.restart(now)                          # nothing before now counts
#
# It outlives a client, so that the next cure of a partition follows after the last one. Not
# thread-safe.
module Skep
  module Kafka
    class Consumer
      class StallDetector
        CURES = %i[seek new_client new_node].freeze
        SEEK_SECONDS = 1.4 # in which a seek must have helped
        REMEMBERED = 120.0 # seconds for which a partition that isn't assigned keeps its cures

        # offset: what is to be read next, nil if unknown; fetched: the offset before which
        # librdkafka has found no more messages; since: when the partition last moved, or was at its
        # end; cures: how many were tried; due: when the next one may be; behind: whether it had
        # more messages when its end was known last.
        Watch = Struct.new(:offset, :fetched, :since, :cures, :due, :behind)

        # key: topic and partition, nil for a member that waits for an assignment; seconds: since
        # when; cure: the one to try now, or the one tried last.
        Stall = Struct.new(:key, :offset, :end_offset, :seconds, :cure)

        private_constant :CURES, :SEEK_SECONDS, :REMEMBERED, :Watch

        # timeout, join_timeout: seconds. start: where a group without a committed offset begins,
        # :beginning or :end; nil if it doesn't.
        def initialize(timeout, join_timeout:, start:)
          @timeout, @join_timeout, @start = timeout, join_timeout, start
          @watches = {}
          @tried = {} # watches of partitions that had a cure and aren't assigned now
          @ended = []
          @join_cures = 0
        end

        # waiting: topic and partition => the offset to read next, of those that wait for messages.
        # assigned: the keys of all assigned partitions.
        def observe(waiting, assigned, now)
          @observed_at = now
          @watches.reject { |key, watch| waiting.key?(key) && waiting[key] == watch.offset }
                  .each { |key, watch| moved(key, watch, assigned, now) }
          @tried.select { |key, _| assigned.include?(key) }
                .each { |key, watch| returned(key, watch, waiting, now) }
          @tried.delete_if { |_, watch| now - watch.due > REMEMBERED }
          waiting.each do |key, offset|
            @watches[key] ||= Watch.new(offset, nil, now, 0, now)
          end
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
          @watches.filter_map do |key, watch|
            end_offset = ends[key] or next unknown(watch, now)
            watch.fetched ||= end_offset if watch.offset.nil? && @start != :beginning
            watch.behind = end_offset > read_until(watch)
            next at_end(key, watch, now) unless watch.behind

            stall(key, watch, end_offset, now) if now >= [watch.since + @timeout, watch.due].max
          end
        end

        def tried(stall, now)
          watch = @watches[stall.key] or return
          watch.cures += 1
          watch.due = now + SEEK_SECONDS
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
          due = @watches.each_value.select(&:behind)
                        .map { |watch| [watch.since + @timeout, watch.due].max }.min
          due && [due - now, 0].max
        end

        # The stalls that have ended since the last call.
        def take_ended = @ended.tap { @ended = [] }

        # joining: whether the member waits for an assignment.
        def join_stall(joining, now)
          @join_cures = 0 unless joining
          @joining_since = joining ? @joining_since || now : nil
          seconds = @joining_since ? now - @joining_since : 0
          return if seconds < @join_timeout

          @joining_since = nil
          Stall.new(nil, nil, nil, seconds, cure(@join_cures += 1))
        end

        # What came before doesn't count: no broker has answered, or this process was stopped.
        def restart(now)
          @joining_since = nil
          @watches.each_value { |watch| watch.since = now }
        end

        def inspect = "#<Skep::Kafka::Consumer::StallDetector #{@timeout} s>"

        private

        # The partition has moved, has work now, or isn't assigned any more.
        def moved(key, watch, assigned, now)
          @watches.delete(key)
          return if watch.cures.zero?
          return ended(key, watch, now) if assigned.include?(key)

          @tried[key] = watch
        end

        # A partition that had a cure is assigned again.
        def returned(key, watch, waiting, now)
          @tried.delete(key)
          offset = waiting[key]
          return ended(key, watch, now) unless waiting.key?(key) && offset.to_i <= watch.offset.to_i

          @watches[key] = Watch.new(offset, nil, now, watch.cures, now)
        end

        def unknown(watch, now)
          watch.since = now
          nil
        end

        def at_end(key, watch, now)
          ended(key, watch, now) if watch.cures.positive?
          watch.cures = 0
          watch.since = now
          nil
        end

        def ended(key, watch, now)
          @ended << Stall.new(key, watch.offset, nil, now - watch.since, cure(watch.cures - 1))
        end

        def stall(key, watch, end_offset, now)
          Stall.new(key, watch.offset, end_offset, now - watch.since, cure(watch.cures))
        end

        def cure(number) = CURES.fetch(number, CURES.last)

        def read_until(watch) = [watch.offset, watch.fetched, 0].compact.max
      end
    end
  end
end
