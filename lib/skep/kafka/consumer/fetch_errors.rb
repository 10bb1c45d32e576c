# frozen_string_literal: true

# What is missing from a partition, or can't be read: tells of it, and tries again.
#
#   fetch_errors = FetchErrors.new(tools)
#   fetch_errors.reset(reader, 17, 60, 43)  # 60 was read instead of 17, and the log began at 43
#   fetch_errors.stuck(reader, 17, code, text)      # a place that can't be read: it is tried again
#   fetch_errors.again(reader, 17)                  # another error, which others tell: likewise
#   fetch_errors.readable(reader)                   # it could be
#   fetch_errors.io; fetch_errors.seconds_left; fetch_errors.look(readers)   # tries what has waited long enough
#
# Intakes call from their workers' threads, the rest is the event loop's.
module Skep
  module Kafka
    class Consumer
      class FetchErrors
        SEEK_SECONDS = 5.0
        AGAIN = 1.0 # seconds
        STAYS = "its partition waits here and tries again; restore the broker's copy, or stop the " \
                "swarm and set the group's offset behind it with kafka-consumer-groups"
        private_constant :SEEK_SECONDS, :AGAIN, :STAYS

        #: (Processing::Tools, ?clock: ^() -> Float) -> void
        def initialize(tools, clock: OS.method(:now))
          @clock = clock
          @options, @consumer, @report = tools.options, tools.consumer, tools.report
          @backoff = Failure::RetryBackoff.new(1.0)
          @wakeup_pipe = Librdkafka::WakeupPipe.new
          @lock = Mutex.new
          @due = {}
          @failures = {}
        end

        # Reports that reading continues at `first`, since `offset` isn't in the log; low: the first
        # offset of the log, where that was the cause. What lies between is lost then: up to there,
        # or up to `first` where the reset was to the log's end.
        #: (Processing::PartitionReader, Integer, Integer, Integer?) -> void
        def reset(reader, offset, first, low)
          to = @options.settings.reset_place
          @report.tell(:kafka_offset_reset, level: :warn, **place(reader), offset:, to: to.to_s,
                                            cause: Librdkafka::Bindings.err2str(Librdkafka::ErrorCode::OFFSET_OUT_OF_RANGE))
          lost(reader, offset, to == :end ? first : low) if low
        end

        #: (Processing::PartitionReader, Integer, Integer, String) -> void
        def stuck(reader, offset, code, text)
          again(reader, offset)
          @report.problem(Librdkafka::Bindings.err2name(code), text, name: :kafka_unreadable, note: STAYS,
                                                       **place(reader), offset:)
        end

        # It is to be read from there again, after a while.
        def again(reader, offset) #: (Processing::PartitionReader, Integer) -> void
          @lock.synchronize do
            @due[reader] = @clock.call + @backoff.seconds(count(reader.key, offset))
          end
          @wakeup_pipe.wake
        end

        def readable(reader, offset) #: (Processing::PartitionReader, Integer) -> void
          @report.tell(:kafka_readable, **place(reader), offset:)
        end

        def io = @wakeup_pipe.io #: () -> IO

        # Until `look` has something to do; nil without that.
        def seconds_left #: () -> Float?
          @lock.synchronize { @due.values.min&.then { |moment| [moment - @clock.call, 0].max } }
        end

        # Of these; one that has gone elsewhere meanwhile is no more ours to seek in.
        def look(readers) #: (Array[Processing::PartitionReader]) -> void
          @wakeup_pipe.drain
          now = @clock.call
          due = @lock.synchronize do
            @due.select! { |reader, _| readers.include?(reader) }
            @due.select { |_, moment| moment <= now }.keys
          end
          due.each { |reader| try_again(reader) }
        end

        def close = @wakeup_pipe.close #: () -> void

        private

        # How often this place has failed in a row, now once more.
        def count(key, offset)
          before, times = @failures[key]
          times = before == offset ? times + 1 : 1
          @failures[key] = [offset, times]
          times
        end

        # It may fail again as soon as it is resumed.
        def try_again(reader)
          @lock.synchronize { @due.delete(reader) }
          reader.resume { |offset| @consumer.seek([[*reader.key, offset]], SEEK_SECONDS) }
        rescue LibrdkafkaError => e # no broker just now, perhaps
          @lock.synchronize { @due[reader] = @clock.call + AGAIN }
          @report.problem("seek", e.message, **place(reader))
        end

        # The first of them is `from`, and the one after them `to`.
        def lost(reader, from, to)
          @report.tell(:messages_lost, level: :error, **place(reader), offset: from,
                                       last_offset: to - 1, messages: to - from)
        end

        def place(reader) = { topic: reader.key.first, partition: reader.key.last }
      end
    end
  end
end
