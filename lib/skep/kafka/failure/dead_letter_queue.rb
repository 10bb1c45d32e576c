# frozen_string_literal: true

# The topic for messages that can't be done: each goes there with its key, its headers and why it
# is there.
#
#   dead_letter.put(message, error, attempts: 5)   # returns when the broker has it
#
# Raises DeliveryFailed if the broker didn't take it, at a stop after some seconds. Headers added:
# skep.topic, skep.partition, skep.offset, skep.error, skep.attempts and skep.host; skep.crashes, of
# one that crashed its nodes. A message that has the first three already, as it was a dead letter
# once, keeps those.
module Skep
  module Kafka
    module Failure
      class DeadLetterQueue
        SECONDS = 30
        LONGEST = SECONDS + 5.0 # seconds that a put can take, one at a time
        # Each goes out by itself, and is given up in time, whatever other messages are allowed.
        OWN = { "linger.ms" => "0", "message.timeout.ms" => (SECONDS * 1000).to_s }.freeze
        OTHERS = [*Producer::LingerFlush::NAMES, "delivery.timeout.ms"].freeze # that mean the same
        TURN = 1.0 # seconds of waiting between two looks whether to stop
        STOP_SECONDS = 10.0 # how long a stop waits, for all of them
        ORIGIN = %w[skep.topic skep.partition skep.offset].freeze
        private_constant :ORIGIN
        private_constant :SECONDS, :OWN, :OTHERS, :TURN, :STOP_SECONDS

        def initialize(options, child) #: (Config::SourceOptions, Child) -> void
          @topic, @settings = options.dead_letter, options.settings
          @child = child
          @lock = Mutex.new
        end

        # through: the handler's Producer::HandlerProducer. Where that makes transactions it goes
        # out as part of one.
        #: (Message, Exception, attempts: Integer, ?crashes: Integer?,
        #:   ?through: Producer::HandlerProducer?) -> void
        def put(message, error, attempts:, crashes: nil, through: nil)
          headers = headers(message, error, "skep.attempts" => attempts.to_s,
                                            "skep.crashes" => crashes&.to_s)
          return write(message, headers) unless through&.atomic?

          through.begin
          through.produce(@topic, message.payload, key: message.key, headers:)
        end

        def close = @lock.synchronize { @producer&.close(timeout: 0) } #: () -> void

        private

        def write(message, headers)
          delivery = producer.__produce(@topic, message.payload, key: message.key, headers:,
                                                                 timestamp: nil, claimed: true)
          await(delivery)
          raise failure(delivery.error&.why || "no answer within #{SECONDS} s") unless delivery.place
        rescue LibrdkafkaError => e # settings that contradict each other
          raise failure(e.message)
        end

        def failure(cause)
          DeliveryFailed.new(topic: @topic, cause: @settings.redact(cause))
        end

        def await(delivery)
          deadline = OS.now + SECONDS + 1
          until delivery.__await(TURN) || OS.now >= deadline
            break if @child.stopping? && OS.now >= stop_at
          end
        end

        # It comes again then.
        def stop_at
          @stop_at ||= OS.now + [STOP_SECONDS, (@child.time_left || STOP_SECONDS) / 3].min
        end

        # Most nodes never need one. What made librdkafka give up (a refusal, for an idempotent
        # producer), at once or some time after a message, may have been mended: the next one is
        # another.
        def producer
          @lock.synchronize do
            @producer.close(timeout: 0) if (spent = @producer&.fatal)
            @producer = nil if spent
            @producer ||= Producer.new(nil, __settings: own_settings,
                                            __report: Metrics::EventReporter.new(@child, @settings))
          end
        end

        def own_settings = Config::ClientConfig.new(@settings.to_h.except(*OTHERS).merge(OWN))

        def headers(message, error, counts)
          text = @settings.redact(Metrics::ErrorText.of(error))
          message.headers.merge(
            origin(message), counts.compact,
            "skep.error" => text.byteslice(0, 1_000).scrub, "skep.host" => Socket.gethostname
          )
        end

        def origin(message)
          return {} if message.headers.key?(ORIGIN.first)

          ORIGIN.zip([message.topic, message.partition.to_s, message.offset.to_s]).to_h
        end
      end
    end
  end
end
