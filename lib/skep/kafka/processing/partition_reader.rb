# frozen_string_literal: true

# A partition's reader that lets nothing pass which would skip messages unseen: librdkafka tells of
# what can't be read (a wrong checksum, an unknown compression) and goes on behind it. Before 2.13.2
# it takes any error (the topic is refused, for one) for a message of that place, and after some
# rebalances goes on behind that too (its issue 4844).
#
#   reader = PartitionReader.new(Librdkafka::PartitionQueue.new(handle, "orders", 3, 500), "orders", 3)
#   message_set, errors, count, reach = reader.read(500)   # what came before such a place; then nothing …
#   reader.resume { |offset| … }             # … until it has been sought there
#   reader.anew { … }                        # or elsewhere
#   reader.shut                              # the partition goes: nothing comes any more
#   reader.begin_at(42, 7)                   # where reading begins: the committed offset and epoch
#   reader.epochs.at(42)                     # => 7, to commit with that offset (LeaderEpochs)
#
# reach: the offset at which what was read ends, where that is behind records that aren't given out
# (Librdkafka::PartitionQueue#position). What it finds it tells its Consumer::FetchErrors, if it has them. It
# shortens its Librdkafka::FetchWait, if it has one, when the queue was full and runs empty although
# the partition goes on.
#
# It also detects offset resets: librdkafka resets an offset that retention has deleted, or that is
# behind the end of the log, and reports it in its log lines only. After a reset forwards a low
# watermark lies between the expected offset and the first one read. In a gap that compaction or a
# transaction leaves there is none.
module Skep
  module Kafka
    module Processing
      class PartitionReader
        # The low watermarks of one partition, as its Fetch answers reported them. What is read may
        # have been fetched some Fetch answers ago, so the latest one isn't enough.
        class LowWatermarks
          def initialize = @offsets = []

          # A lower one than before is that of another log: the topic was made again.
          def add(offset) #: (Integer) -> void
            @offsets.pop while @offsets.any? && @offsets.last >= offset
            @offsets << offset
          end

          # Returns the highest one in (expected, first], if there is one. Forgets those before.
          #: (Integer, Integer) -> Integer?
          def between(expected, first)
            @offsets.shift while @offsets.any? && @offsets.first <= expected
            @offsets.reverse_each.find { |offset| offset <= first }
          end
        end

        NONE = [Librdkafka::MessageSet.new([]), [].freeze].freeze
        private_constant :LowWatermarks, :NONE

        attr_reader :key #: [String, Integer], topic and partition
        attr_accessor :fetch_errors #: Consumer::FetchErrors?
        attr_accessor :fetch_wait #: Librdkafka::FetchWait?
        attr_reader :epochs #: LeaderEpochs

        #: (Librdkafka::PartitionQueue, String, Integer) -> void
        def initialize(queue, topic, number)
          @queue = queue
          @key = [topic, number]
          @lock = Mutex.new
          @reading = Mutex.new
          @messages = @bytes = 0
          @low_watermarks = LowWatermarks.new
          begin_at
        end

        # Before the first read: the offset where reading begins unless that is reset, and its
        # leader epoch. Both may be unknown.
        def begin_at(offset = nil, epoch = nil) #: (?Integer?, ?Integer?) -> void
          @expected = offset
          @epochs = LeaderEpochs.new(offset, epoch)
        end

        #: (Integer) -> [Librdkafka::MessageSet, Array[[Integer, String, Integer]], Integer,
        #:   Integer?]
        def read(limit)
          @lock.synchronize do
            before = @queue.position
            message_set, errors, count = @reading.synchronize {
 @shut ? [*NONE, 0] : @queue.read(limit) }
            next [*NONE, count, nil] if @stuck || @shut

            note_backlog(count, message_set.bytes, empty: count < limit) if @fetch_wait

            after = @queue.position if errors.empty?
            reach = reach(message_set, before, after) if after && count < limit
            message_set, errors = sift(message_set, errors) if @fetch_errors && errors.any?
            note(message_set, reach, (after unless after == before)) if reach || !message_set.empty?
            [message_set, errors, count, reach]
          end
        end

        # What comes from here on is for who has the partition next: the queue is the same one.
        # Waits for nothing but a read.
        def shut #: () -> void
          @reading.synchronize { @shut = true }
        end

        # Yields where it is stuck, so that it is read from there again.
        def resume #: () { (Integer) -> void } -> void
          @lock.synchronize do
            next unless @stuck

            yield @stuck
            @mended = @stuck if @unreadable
            @stuck = nil
          end
        end

        # For a seek to somewhere else, to the offset that the block returns: where it was stuck is
        # no matter any more.
        #: () { () -> Integer } -> Integer
        def anew
          @lock.synchronize do
            begin_at(yield)
            @stuck = @mended = nil
            @expected
          end
        end

        def close = @queue.close #: () -> void
        def inspect = "#<Skep::Kafka::Processing::PartitionReader #{key.join("/")}>" #: () -> String

        private

        # Between two reads that empty the queue at least as much comes out of it as was ever in it.
        def note_backlog(count, bytes, empty:)
          @messages += count
          @bytes += bytes
          return unless empty

          full = @fetch_wait.full?(@messages, @bytes)
          @messages = @bytes = 0
          @fetch_wait.shorten if full && @queue.behind?
        end

        def sift(message_set, errors)
          found = errors.find { |_, _, offset| offset >= 0 } or return [message_set, errors]

          bad, others = errors.partition { |code, _| Librdkafka::ErrorCode::UNREADABLE.include?(code) }
          code, text, @stuck = found
          @unreadable = bad.include?(found)
          @unreadable ? @fetch_errors.stuck(self, @stuck, code,
                                            text) : @fetch_errors.again(self, @stuck)
          [Librdkafka::MessageSet.new(message_set.take_while { |message|
 message.offset < @stuck }), others]
        end

        # Only what this read has moved counts, as it stands a message too far after an error, and
        # where the partition's last time here left it until librdkafka has begun anew. Where more
        # waits it doesn't matter yet.
        def reach(message_set, before, after)
          after if after > [before || 0, message_set.empty? ? 0 : message_set.last_offset + 1].max
        end

        # moved_to: librdkafka's position, if this read has moved it.
        def note(message_set, reach, moved_to)
          @fetch_errors&.readable(self, @mended) if @mended
          @mended = nil
          detect_reset(message_set.empty? ? reach : message_set.first_offset)
          @epochs.read(@expected, moved_to, @queue.leader_epoch) if moved_to
          @expected = reach || (message_set.last_offset + 1)
        end

        # first: the offset of the first message read, or where the read ends without any.
        def detect_reset(first)
          low = @queue.low_watermark
          @low_watermarks.add(low) if low
          return if @expected.nil? || first == @expected

          low = @low_watermarks.between(@expected, first)
          @epochs.reset if first < @expected
          @fetch_errors&.reset(self, @expected, first, low) if low || first < @expected
        end
      end
    end
  end
end
