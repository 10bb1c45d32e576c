# frozen_string_literal: true

# What is missing from a partition, or can't be read: tells of it, and tries again.
#
#   gaps = FetchErrors.new(tools)
#   gaps.reset(intake, 17, 60, 43)  # 60 was read instead of 17, and the log began at 43
#   gaps.stuck(intake, 17, code, text)      # a place that can't be read: it is tried again
#   gaps.again(intake, 17)                  # another error, which others tell: likewise
#   gaps.readable(intake)                   # it could be
#   gaps.io; gaps.seconds_left; gaps.look(intakes)   # tries what has waited long enough
#
# Intakes call from their workers' threads, the rest is the keeper's.
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
          @bell = Librdkafka::WakeupPipe.new
          @lock = Mutex.new
          @due = {}
          @failures = {}
        end

        # Reports that reading continues at `first`, since `offset` isn't in the log; low: the first
        # offset of the log, where that was the cause. What lies between is lost then: up to there,
        # or up to `first` where the reset was to the log's end.
        #: (Processing::PartitionReader, Integer, Integer, Integer?) -> void
        def reset(intake, offset, first, low)
          to = @options.settings.reset_place
          @report.tell(:kafka_offset_reset, level: :warn, **place(intake), offset:, to: to.to_s,
                                            cause: Librdkafka::Bindings.err2str(Librdkafka::ErrorCode::OUT_OF_RANGE))
          lost(intake, offset, to == :end ? first : low) if low
        end

        #: (Processing::PartitionReader, Integer, Integer, String) -> void
        def stuck(intake, offset, code, text)
          again(intake, offset)
          @report.problem(Librdkafka::Bindings.err2name(code), text, name: :kafka_unreadable, note: STAYS,
                                                       **place(intake), offset:)
        end

        # It is to be read from there again, after a while.
        def again(intake, offset) #: (Processing::PartitionReader, Integer) -> void
          @lock.synchronize do
            @due[intake] = @clock.call + @backoff.seconds(count(intake.key, offset))
          end
          @bell.ring
        end

        def readable(intake, offset) #: (Processing::PartitionReader, Integer) -> void
          @report.tell(:kafka_readable, **place(intake), offset:)
        end

        def io = @bell.io #: () -> IO

        # Until `look` has something to do; nil without that.
        def seconds_left #: () -> Float?
          @lock.synchronize { @due.values.min&.then { |moment| [moment - @clock.call, 0].max } }
        end

        # Of these; one that has gone elsewhere meanwhile is no more ours to seek in.
        def look(intakes) #: (Array[Processing::PartitionReader]) -> void
          @bell.heard
          now = @clock.call
          due = @lock.synchronize do
            @due.select! { |intake, _| intakes.include?(intake) }
            @due.select { |_, moment| moment <= now }.keys
          end
          due.each { |intake| try_again(intake) }
        end

        def close = @bell.close #: () -> void

        private

        # How often this place has failed in a row, now once more.
        def count(key, offset)
          before, times = @failures[key]
          times = before == offset ? times + 1 : 1
          @failures[key] = [offset, times]
          times
        end

        # It may fail again as soon as it is resumed.
        def try_again(intake)
          @lock.synchronize { @due.delete(intake) }
          intake.resume { |offset| @consumer.seek([[*intake.key, offset]], SEEK_SECONDS) }
        rescue LibrdkafkaError => e # no broker just now, perhaps
          @lock.synchronize { @due[intake] = @clock.call + AGAIN }
          @report.problem("seek", e.message, **place(intake))
        end

        # The first of them is `from`, and the one after them `to`.
        def lost(intake, from, to)
          @report.tell(:messages_lost, level: :error, **place(intake), offset: from,
                                       last_offset: to - 1, messages: to - from)
        end

        def place(intake) = { topic: intake.key.first, partition: intake.key.last }
      end
    end
  end
end
