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
#   reader.begin_at(42, 7)            # reading begins at this committed offset and leader epoch
#   reader.epochs.at(42)              # => 7, to commit with that offset (LeaderEpochs)
#
# count: what was taken from the queue, errors included. end_offset: the offset after the last
# record read, if that is none that is delivered, as a transaction's end
# (Librdkafka::PartitionQueue#position). The reader reports to its Consumer::FetchErrors, if it has
# one.
#
# BeyondOffset (below) knows what the last owner of the partition has done beyond the offset.
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

        # The leader epochs of the messages read from a partition. They are committed with the
        # offsets (KIP-320), so that a consumer that begins at a committed offset notices if the log
        # was truncated.
        #
        #   epochs = LeaderEpochs.new(42, 7)   # reading begins at the offset 42, of epoch 7
        #   epochs.read(42, 60, 7)      # a read from 42 ended at 60, after a message of epoch 7
        #   epochs.at(50)               # => 7, the epoch of the message before the offset 50
        #   epochs.at(70)               # => nil: unknown, the offset is committed without one
        #   epochs.reset                # librdkafka went back: the log may be another one
        #
        # Only the epoch of each read's last message is known. Messages between two with the same
        # epoch have that epoch. An epoch that is too low would look like a truncated log. One that
        # is too high, or lower than one committed before (the epochs of a recreated topic begin at
        # 0), would keep librdkafka from committing automatically: it compares positions by their
        # epochs first. So an offset whose epoch isn't exactly known has none.
        class LeaderEpochs
          # An epoch, and the offsets between which it is known, both included.
          Span = Struct.new(:epoch, :from, :to)
          private_constant :Span

          def initialize(offset = nil, epoch = nil)
            @lock = Mutex.new
            @highest = epoch || 0
            @spans = offset && epoch ? [Span.new(epoch, offset, offset)] : []
          end

          def read(from, to, epoch)
            @lock.synchronize do
              next if epoch.nil? || epoch < @highest

              @highest = epoch
              last = @spans.last
              if last && from && last.epoch == epoch && from.between?(last.from, last.to)
                last.to = to
              else
                @spans << Span.new(epoch, to, to)
              end
            end
          end

          # Returns the offset's epoch, if it is known, and forgets those of lower offsets.
          def at(offset)
            @lock.synchronize do
              @spans.shift while @spans.size > 1 && @spans.first.to < offset
              @spans.find { |one| offset.between?(one.from, one.to) }&.epoch
            end
          end

          def reset = @lock.synchronize { @spans.clear }

          # Of the messages read; 0 if it is unknown.
          def highest = @lock.synchronize { @highest }

          def inspect
            "#<Skep::Kafka::Processing::PartitionReader::LeaderEpochs #{@spans.map(&:to_a)}>"
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

      # What is known of a partition's messages from the committed offset on: which are done (by
      # key), and which have failed alone. The metadata of commits has it for the partition's next
      # owner. The scheduler calls it under its lock, except `without_done`.
      #
      #   beyond = BeyondOffset.new(reader.epochs, metadata)  # of the commit; nil: none
      #   messages = beyond.without_done(messages)
      #   beyond.failures                       # => { 43 => a FailureCount }
      #   beyond.failed(item)                   # it is to be tried again
      #   beyond.metadata(40, order)            # to commit with the offset 40; nil: none
      class BeyondOffset
        attr_reader :failures # by offset

        def initialize(epochs, former = nil)
          @epochs, @former = epochs, former
          @offset = former ? former.offset : 0
          @failures = former ? former.failures.dup : {}
        end

        # Returns false if the item's slice isn't one message that has failed.
        def failed(item)
          return false unless item.failed_alone?

          @failures[item.slice.first_offset] = item.failures
        end

        # The most messages to read at once, `most` or fewer. A read knows only the leader epoch of
        # its last message: it ends where `done` does, as later messages may have a higher one.
        def room(offset, most)
          left = offset && @former ? @former.left(offset) : 0
          left.positive? ? [left, most].min : most
        end

        # Returns the messages that the last owner hasn't done.
        def without_done(messages)
          former = @former or return messages
          @former = nil unless former.about?(messages.first.offset, @epochs.highest)
          @former ? messages.reject { |message| former.done?(message.offset) } : messages
        end

        # What has failed alone gets slices of its own. If reading has begun before the committed
        # offset, it is another log: its messages haven't failed.
        def isolate(slices)
          return slices if @failures.empty? || slices.empty?

          forget if slices.first.first_offset < @offset
          slices.flat_map do |slice|
            slice.isolate { |message| @failures.key?(message.offset) }
          end
        end

        # order: a KeyOrder or PartitionOrder.
        def metadata(offset, order)
          done = order.done_from(offset) or return (written(offset, "", order) if @failures.any?)
          from = [order.read_to, offset].compact.max
          former = @former # which the thread that reads may drop meanwhile
          done += former.done_from(from) if former&.about?(from, @epochs.highest)
          written(offset, done, order)
        end

        private

        def forget
          @offset = 0
          @failures.clear
        end

        def written(offset, done, order)
          @failures.select! { |at, _| order.unfinished?(at) }
          CommitMetadata.write(offset, done:, failures: @failures, epoch: @epochs.highest)
        end
      end
    end
  end
end
