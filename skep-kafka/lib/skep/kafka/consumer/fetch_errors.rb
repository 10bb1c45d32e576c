# frozen_string_literal: true

# Retries reading where a partition can't be read, with a backoff, and reports offsets that were
# skipped.
#
#   fetch_errors = FetchErrors.new(settings:, consumer:, report:)
#   fetch_errors.reset(reader, 17, 60, 43)       # reading continues at 60; the log begins at 43
#   fetch_errors.corrupt_record(reader, 17, code, text)   # offset 17 can't be read: reports it, and
#                                                         # retries it later
#   fetch_errors.retry_later(reader, 17)      # the same; Scheduler reports the error
#   fetch_errors.readable_again(reader, 17)   # a retry succeeded
#   fetch_errors.io; fetch_errors.seconds_left; fetch_errors.retry_due(readers)
#
# PartitionReader notices resets and unreadable offsets, and calls the first four on the workers'
# threads; the event loop calls the others.
module Skep
  module Kafka
    class Consumer
      class FetchErrors
        SEEK_SECONDS = 5.0
        RETRY_SECONDS = 1.0
        STAYS = "The partition waits here and retries. Restore the broker's copy, or stop the " \
                "swarm and set the group's offset behind it with kafka-consumer-groups"
        private_constant :SEEK_SECONDS, :RETRY_SECONDS, :STAYS

        def initialize(settings:, consumer:, report:, clock: OS.method(:now))
          @clock = clock
          @settings, @consumer, @report = settings, consumer, report
          @backoff = Failure::RetryBackoff.new(1.0)
          @wakeup_pipe = Librdkafka::WakeupPipe.new
          @lock = Mutex.new
          @due = {}
          @failures = {}
        end

        # Reports that reading continues at `first`, since `offset` isn't in the log; low: the first
        # offset of the log, if messages before it were deleted. The messages up to there are lost,
        # or up to `first` if the reset was to the end of the log.
        def reset(reader, offset, first, low)
          to = @settings.reset_place
          error = Librdkafka::Bindings.err2str(Librdkafka::ErrorCode::OFFSET_OUT_OF_RANGE)
          @report.event(:kafka_offset_reset, level: :warn, **log_context(reader), offset:,
                                             to: to.to_s, error:)
          lost(reader, offset, to == :end ? first : low) if low
        end

        def corrupt_record(reader, offset, code, text)
          retry_later(reader, offset)
          @report.problem(Librdkafka::Bindings.err2name(code), text,
                          name: :kafka_unreadable, hint: STAYS, **log_context(reader), offset:)
        end

        # Reading from the offset is retried after a backoff.
        def retry_later(reader, offset)
          @lock.synchronize do
            @due[reader] = @clock.call + @backoff.seconds(count(reader.key, offset))
          end
          @wakeup_pipe.wake
        end

        def readable_again(reader, offset)
          @report.event(:kafka_readable, **log_context(reader), offset:)
        end

        def io = @wakeup_pipe.io

        # Until `retry_due` has something to retry; nil if there is nothing.
        def seconds_left
          @lock.synchronize { @due.values.min&.then { |moment| [moment - @clock.call, 0].max } }
        end

        # Retries those that are due. A reader that isn't among these is of a partition that was
        # revoked meanwhile.
        def retry_due(readers)
          @wakeup_pipe.drain
          now = @clock.call
          due = @lock.synchronize do
            next [] if @failures.empty? && @due.empty?

            assigned = readers.to_h { |reader| [reader.key, reader] }
            @due.select! { |reader, _| assigned[reader.key].equal?(reader) }
            @failures.select! { |key, _| assigned.key?(key) }
            @due.select { |_, moment| moment <= now }.keys
          end
          due.each { |reader| resume(reader) }
        end

        def close = @wakeup_pipe.close

        private

        # Returns how often this offset has failed in a row.
        def count(key, offset)
          before, times = @failures[key]
          times = before == offset ? times + 1 : 1
          @failures[key] = [offset, times]
          times
        end

        # A reader is removed first, since it may fail again as soon as it is resumed.
        def resume(reader)
          @lock.synchronize { @due.delete(reader) }
          reader.resume { |offset| @consumer.seek([[*reader.key, offset]], SEEK_SECONDS) }
        rescue LibrdkafkaError => e # no broker just now, perhaps
          @lock.synchronize { @due[reader] = @clock.call + RETRY_SECONDS }
          @report.problem("seek", e.message, **log_context(reader))
        end

        # from: the first of the lost offsets; to: the one after the last.
        def lost(reader, from, to)
          @report.event(:messages_lost, level: :error, **log_context(reader), offset: from,
                                        last_offset: to - 1, messages: to - from)
        end

        def log_context(reader) = { topic: reader.key.first, partition: reader.key.last }
      end
    end
  end
end
