# frozen_string_literal: true

# How long a broker may hold a fetch request for which it has no data (fetch.wait.max.ms): 500 ms,
# librdkafka's default, but 10 ms while a partition with a backlog is read faster than that.
#
#   fetch_wait = FetchWait.new(consumer.handle, messages: 10_000, bytes: 16_384_000)
#   fetch_wait.full?(10_240, 921_600)   # => true: a full queue is left out of fetch requests
#   fetch_wait.shorten                  # for a second
#   fetch_wait.io; fetch_wait.seconds_left; fetch_wait.look    # for the event loop
#
# librdkafka has one fetch request in flight for each broker and leaves partitions with a full queue
# out of it. If all others are at their end, the broker holds the request for the whole time, while
# the reader empties the full queue and waits. A client with nothing to read keeps the long wait: it
# sends two requests a second to each broker.
#
# librdkafka reads the value from its live configuration for each request. Its API declares that
# configuration read-only; if a later release refuses the write, the wait stays as it is
# (docs/decisions/the-fetch-wait-follows-the-backlog.md).
module Skep
  module Kafka
    class Consumer
      class FetchWait
        NAME = "fetch.wait.max.ms"
        LONG = 500 # milliseconds
        SHORT = 10
        SECONDS = 1.0 # how long the wait stays short
        private_constant :LONG, :SHORT, :SECONDS

        # Returns the FetchWait of a consumer with these settings; nil if they set it themselves.
        #: (FFI::Pointer, Hash[String, String]) -> FetchWait?
        def self.for(handle, settings)
          return if settings.key?(NAME)

          messages, kbytes = settings.values_at("queued.min.messages", "queued.max.messages.kbytes")
          new(handle, messages: (messages || 100_000).to_i, bytes: (kbytes || 65_536).to_i * 1000)
        end

        # messages, bytes: a partition's queue with so much is full.
        #: (FFI::Pointer, messages: Integer, bytes: Integer, ?long: Integer, ?clock: ^() -> Float)
        #:   -> void
        def initialize(handle, messages:, bytes:, long: LONG, clock: OS.method(:now))
          @conf = Librdkafka::Bindings.conf(handle)
          @messages, @bytes = messages, bytes
          @long, @clock = long, clock
          @lock = Mutex.new
          @wakeup_pipe = Librdkafka::WakeupPipe.new
        end

        # Returns true if librdkafka leaves a partition whose queue has so much out of a request.
        #: (Integer, Integer) -> bool
        def full?(messages, bytes) = messages >= @messages || bytes >= @bytes

        # May be called by any thread.
        def shorten #: () -> void
          was_long = @lock.synchronize do
            before, @due = @due, @clock.call + SECONDS
            write(SHORT) unless before
            before.nil?
          end
          @wakeup_pipe.wake if was_long
        end

        def io = @wakeup_pipe.io #: () -> IO

        # Returns the time until `look` must be called; nil while the wait is long.
        def seconds_left #: () -> Float?
          @lock.synchronize { @due && [@due - @clock.call, 0].max }
        end

        # Makes the wait long again if nobody has shortened it for a second.
        def look #: () -> void
          @wakeup_pipe.drain
          @lock.synchronize do
            next unless @due && @due <= @clock.call

            @due = nil
            write(@long)
          end
        end

        def close = @wakeup_pipe.close #: () -> void

        #: () -> String
        def inspect = "#<Skep::Kafka::Consumer::FetchWait #{@due ? SHORT : @long} ms>"

        private

        def write(milliseconds)
          Librdkafka::Bindings.with_error_buffer do |buffer, size|
            Librdkafka::Bindings.conf_set(@conf, NAME, milliseconds.to_s, buffer, size)
          end
        end
      end
    end
  end
end
