# frozen_string_literal: true

# Reads a partition's queue, and never skips a message silently. librdkafka reports messages that
# can't be read (a wrong checksum, an unknown compression) and continues after them. Before 2.13.2
# it also takes any other error (a refused topic, for one) for a message at that offset, and after
# some rebalances continues after it (its issue 4844). The reader stops at such an offset instead.
#
#   queue = Librdkafka::PartitionQueue.new(handle, "orders", 3, 500)
#   reader = PartitionReader.new(queue, "orders", 3, fetch_errors:)
#   message_set, errors, count, end_offset = reader.read(500)   # stops at such an offset
#   reader.resume { |offset| … }      # the block seeks the offset at which it has stopped
#   reader.restart { … }              # seeks another one
#   reader.shut                       # the partition is revoked: reads nothing any more
#   reader.drop_former(500)           # before the assignment
#   reader.begin_at(42, 7)            # reading begins at this committed offset and leader epoch
#   reader.epochs.at(42)              # => 7, to commit with that offset (LeaderEpochs)
#
# count: what was taken from the queue, errors included. end_offset: the offset after the last
# record read, if that is none that is delivered, as a transaction's end
# (Librdkafka::PartitionQueue#position). The reader reports to its Consumer::FetchErrors, if it has
# one.
#
# DoneOffsets knows what the last owner of the partition has done beyond the offset.
#
# It also detects offset resets: librdkafka resets an offset that retention has deleted, or that is
# behind the end of the log, and reports it in log lines only. After a reset forwards, a low
# watermark lies between the expected offset and the first one read. A gap left by compaction or a
# transaction has none.
module Skep
  module Kafka
    module Processing
      class PartitionReader
        # The low watermarks of a partition, as Fetch responses reported them. Messages may come
        # from an earlier Fetch response, so the latest one isn't enough.
        class LowWatermarks
          def initialize = @offsets = []

          # A lower one than before belongs to another log: the topic was recreated.
          def add(offset)
            @offsets.pop while @offsets.any? && @offsets.last >= offset
            @offsets << offset
          end

          # Returns the highest one in (expected, first], if there is one. Forgets those before.
          def between(expected, first)
            @offsets.shift while @offsets.any? && @offsets.first <= expected
            @offsets.reverse_each.find { |offset| offset <= first }
          end
        end

        NONE = [Librdkafka::MessageSet.new([]), [].freeze].freeze
        private_constant :LowWatermarks, :NONE

        attr_reader :key # topic and partition
        attr_reader :epochs

        def initialize(queue, topic, number, fetch_errors: nil)
          @queue, @fetch_errors = queue, fetch_errors
          @key = [-topic, number].freeze # frozen: handlers see the topic
          @lock = Mutex.new
          @reading = Mutex.new
          @low_watermarks = LowWatermarks.new
          begin_at
        end

        # Before the first read: the offset where reading begins unless that is reset, and its
        # leader epoch. Both may be unknown.
        def begin_at(offset = nil, epoch = nil)
          @expected = offset
          @epochs = LeaderEpochs.new(offset, epoch)
        end

        # Before the assignment: drops what the queue still has of an earlier one. After a short one
        # librdkafka keeps messages that arrived at its end, and returns them again later.
        def drop_former(limit)
          nil until read_queue(limit).last.zero?
        end

        def read(limit)
          @lock.synchronize do
            before = @queue.position
            message_set, errors, count = read_queue(limit)
            next [*NONE, count, nil] if @stuck || @shut

            after = @queue.position if errors.empty?
            end_offset = end_of(message_set, before, after) if after && count < limit
            message_set, errors = stop_at_error(message_set, errors) if @fetch_errors && errors.any?
            if end_offset || !message_set.empty?
              note(message_set, end_offset, (after unless after == before))
            end
            [message_set, errors, count, end_offset]
          end
        end

        # Messages that come from here on are for the next assignment, which has the same queue.
        # Waits only for a read in progress.
        def shut
          @reading.synchronize { @shut = true }
        end

        # Yields the offset at which it has stopped, for a seek to it.
        def resume
          @lock.synchronize do
            next unless @stuck

            yield @stuck
            @mended = @stuck if @unreadable
            @stuck = nil
          end
        end

        # The offset to read next; nil if it isn't known.
        def next_offset = @expected

        # Returns true if it has stopped at an offset that can't be read.
        def stuck? = !@stuck.nil?

        # The block seeks, and returns the offset at which reading begins again.
        def restart
          @lock.synchronize do
            begin_at(yield)
            @stuck = @mended = nil
            @expected
          end
        end

        # librdkafka writes that number into the pipe when messages come into the empty queue.
        def notify(wakeup_pipe, number)
          @queue.notify(wakeup_pipe, number)
        end

        def close = @queue.close
        def inspect = "#<Skep::Kafka::Processing::PartitionReader #{key.join("/")}>"

        private

        def read_queue(limit)
          @reading.synchronize { @shut ? [*NONE, 0] : @queue.read(limit) }
        end

        def stop_at_error(message_set, errors)
          found = errors.find { |_, _, offset| offset >= 0 } or return [message_set, errors]

          unreadable = Librdkafka::ErrorCode::UNREADABLE
          bad, others = errors.partition { |code, _| unreadable.include?(code) }
          code, text, @stuck = found
          @unreadable = bad.include?(found)
          if @unreadable then @fetch_errors.corrupt_record(self, @stuck, code, text)
          else @fetch_errors.retry_later(self, @stuck)
          end
          before = message_set.take_while { |message| message.offset < @stuck }
          [Librdkafka::MessageSet.new(before), others]
        end

        # librdkafka's position counts only if this read has moved it: after an error it is one
        # message too far, and after an assignment it is that of an earlier one at first.
        def end_of(message_set, before, after)
          after if after > [before || 0, message_set.empty? ? 0 : message_set.last_offset + 1].max
        end

        # moved_to: librdkafka's position, if this read has moved it.
        def note(message_set, end_offset, moved_to)
          @fetch_errors&.readable_again(self, @mended) if @mended
          @mended = nil
          detect_reset(message_set.empty? ? end_offset : message_set.first_offset)
          @epochs.read(@expected, moved_to, @queue.leader_epoch) if moved_to
          @expected = end_offset || (message_set.last_offset + 1)
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
