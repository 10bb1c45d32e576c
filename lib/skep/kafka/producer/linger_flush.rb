# frozen_string_literal: true

# Has librdkafka send what it holds back for a fuller batch (`linger.ms`), as long as somebody waits
# for it.
#
#   hurry = LingerFlush.for(settings, sender, in_flight)    # nil where nothing is held back for long
#   hurry.while { in_flight.wait(5) { in_flight.empty? } }
#   hurry.close                                    # before the sender is
#
# rd_kafka_flush can't be interrupted, and waits for everybody's messages: it has a thread of its
# own, so that who waits can be killed, timed out, or be content with its own.
module Skep
  module Kafka
    class Producer
      class LingerFlush
        NAMES = %w[linger.ms queue.buffering.max.ms].freeze
        SHORT = 5.0 # milliseconds, librdkafka's own: not worth a thread
        TURN_MS = 1_000 # between two looks whether somebody still waits
        private_constant :SHORT, :TURN_MS

        #: (Hash[String, String], ProducerClient, InFlightMessages) -> LingerFlush?
        def self.for(settings, sender, in_flight)
          new(sender, in_flight) if settings.slice(*NAMES).values.any? { |ms| ms.to_f > SHORT }
        end

        def initialize(sender, in_flight) #: (ProducerClient, InFlightMessages) -> void
          @sender, @in_flight = sender, in_flight
          @lock = Mutex.new
          @waiting = 0
          @thread = Threads::Background.new("kafka.hurry", restart: :never) do |inbox|
            inbox.each { flush }
          end
        end

        # Gives what the block gives.
        def while #: () { () -> untyped } -> untyped
          @lock.synchronize { @waiting += 1 }
          ask
          yield
        ensure
          @lock.synchronize { @waiting -= 1 }
        end

        # Waits for the turn it is at, which ends with the last message at the latest.
        def close = @thread.close #: () -> void

        private

        def ask
          @lock.synchronize do
            @thread.push(:flush) unless @asked
            @asked = true
          end
        rescue Threads::Background::Closed, Threads::Background::WrongProcess
          # At the process' end, or in a fork of it: what waits knows about that itself.
        end

        def flush
          @lock.synchronize { @asked = false }
          @sender.flush(TURN_MS) while @waiting.positive? && !@in_flight.empty?
        end
      end
    end
  end
end
