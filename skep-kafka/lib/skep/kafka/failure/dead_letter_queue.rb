# frozen_string_literal: true

# Writes messages that can't be processed to a dead letter topic, each with its key, its headers
# and the error.
#
#   dead_letter_queue.put(message, error, to: "orders.dead", attempts: 5)
#
# `put` returns once the brokers have the message; in a transactional source at once, and the
# transaction that commits the message's offset contains it.
#
# Raises DeliveryFailed if it couldn't be written; while the node stops, it gives up after some
# seconds and raises, too. It adds the headers skep.topic, skep.partition, skep.offset, skep.error,
# skep.attempts and skep.host, skep.error_at if it is known where the error was raised,
# skep.revision if that of the code is known, and skep.crashes for a poison message. A message that
# has the first three already, since it has been a dead letter before, keeps these.
module Skep
  module Kafka
    module Failure
      class DeadLetterQueue
        SECONDS = 30
        LONGEST = SECONDS + 5.0 # seconds that one #put can take
        # Each message is sent at once and fails in time, whatever the source's settings are.
        OWN = { "linger.ms" => "0", "message.timeout.ms" => (SECONDS * 1000).to_s }.freeze
        REPLACED = [*Producer::LINGER_SETTINGS, "delivery.timeout.ms"].freeze # other names of these
        SLICE = 1.0 # seconds of a wait, after which it checks whether the node is stopping
        STOP_SECONDS = 10.0 # that a stopping node waits for dead letters, all threads together
        ORIGIN = %w[skep.topic skep.partition skep.offset].freeze
        ERROR_BYTES = 1_000
        private_constant :SECONDS, :OWN, :REPLACED, :SLICE, :STOP_SECONDS, :ORIGIN, :ERROR_BYTES

        def initialize(settings, node)
          @settings, @node = settings, node
          @lock = Mutex.new
        end

        # through: the producer of the handler. If it is transactional, the dead letter is part of
        # its transaction.
        def put(message, error, to:, attempts:, crashes: nil, through: nil)
          headers = headers(message, error, "skep.attempts" => attempts.to_s,
                                            "skep.crashes" => crashes&.to_s)
          return write(to, message, headers) unless through&.transactional?

          through.begin_batch
          through.__produce(to, message.payload, key: message.key, headers:)
        end

        def close = @lock.synchronize { @producer&.close(timeout: 0) }

        private

        def write(topic, message, headers)
          handle = producer.__produce(topic, message.payload, key: message.key, headers:,
                                                              claimed: true, node: @node)
          await(handle)
          return if handle.report

          raise failure(topic, handle.error&.why || "no answer within #{SECONDS} s")
        rescue LibrdkafkaError => e # settings that contradict each other
          raise failure(topic, e.message)
        end

        def failure(topic, cause)
          DeliveryFailed.new(topic:, cause: @settings.redact(cause))
        end

        def await(handle)
          deadline = OS.now + SECONDS + 1
          until handle.__await(SLICE) || OS.now >= deadline
            break if @node.stopping? && OS.now >= stop_at
          end
        end

        # The message is delivered again after the node has stopped.
        def stop_at
          @stop_at ||= OS.now + [STOP_SECONDS, (@node.time_left || STOP_SECONDS) / 3].min
        end

        # Made at its first use: most nodes never write a dead letter. A Producer has a thread,
        # which handles librdkafka's events also while there is nothing to write. After a fatal
        # error, such as a refused idempotent write, the next message gets another producer.
        def producer
          @lock.synchronize do
            if @producer&.fatal
              @producer.close(timeout: 0)
              @producer = nil
            end
            @producer ||= Producer.__for_node(producer_settings,
                                              Metrics::EventReporter.new(@node, @settings))
          end
        end

        def producer_settings
          Config::ClientConfig.new(@settings.to_h.except(*REPLACED).merge(OWN))
        end

        def headers(message, error, counts)
          text = @settings.redact(Metrics::EventReporter.describe(error))
          own = { **counts, "skep.error" => text.byteslice(0, ERROR_BYTES).scrub,
                            "skep.error_at" => ErrorPlace.of(error),
                            "skep.host" => Socket.gethostname, "skep.revision" => @node.revision }
          message.headers.except("skep.error_at", "skep.revision")
                 .merge(origin(message), own.compact)
        end

        def origin(message)
          return {} if message.headers.key?(ORIGIN.first)

          ORIGIN.zip([message.topic, message.partition.to_s, message.offset.to_s]).to_h
        end
      end
    end
  end
end
