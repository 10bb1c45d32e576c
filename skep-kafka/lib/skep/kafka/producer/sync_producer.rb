# frozen_string_literal: true

# Writes many messages and counts how many were delivered.
#
#   producer = SyncProducer.new({ "bootstrap.servers" => "…" })
#   producer.put("orders", "key", "payload", { "trace" => "1" })   # waits while the buffer is full
#   producer.flush(30)                                             # waits for all acknowledgements
#   producer.delivered, producer.failed
#
# Only one thread at a time may use it. It has no thread of its own: delivery reports are handled
# while it waits, and by #poll. Use Producer for everything else.
module Skep
  module Kafka
    class Producer
      class SyncProducer < Librdkafka::ProducerClient
        FULL_SECONDS = 1.0
        private_constant :FULL_SECONDS

        attr_reader :delivered
        attr_reader :failed
        attr_reader :cause # of the last failure or error

        def initialize(settings)
          super
          @delivered = @failed = 0
        end

        # Adds a message to the buffer. Raises DeliveryFailed if librdkafka rejects it.
        def put(topic, key, payload, headers = nil, partition: nil)
          ProduceMethods.check(topic, payload, key, partition, headers)
          Kernel.loop do
            case (code = super(topic, key, payload, headers:, partition:))
            when 0 then return
            when Librdkafka::ErrorCode::QUEUE_FULL then wait_for_events(FULL_SECONDS)
            else raise DeliveryFailed.new(topic:, cause: Librdkafka::Bindings.err2str(code))
            end
          end
        end

        # Waits up to `seconds` until every message is acknowledged. Returns how many are not.
        def flush(seconds)
          deadline = OS.now + seconds
          while waiting.positive? && (left = deadline - OS.now).positive?
            wait_for_events(left)
          end
          waiting
        end

        # Handles the delivery reports that have arrived, without waiting.
        def poll = control.drain { |event| handle_event(event) }

        private

        def wait_for_events(seconds)
          control.wait([seconds, 0].max) { |event| handle_event(event) }
          poll
        end

        def handle_event(event)
          case event.kind
          when :delivery then event.deliveries.each { |code,| count(code) }
          when :error then @cause = event.text
          end
        end

        def count(code)
          return @delivered += 1 if code.zero?

          @failed += 1
          @cause = Librdkafka::Bindings.err2str(code)
        end
      end
    end
  end
end
