# frozen_string_literal: true

# Writes many messages and knows how many arrived.
#
#   writer = SyncProducer.new({ "bootstrap.servers" => "…" })
#   writer.put("orders", "key", "payload", { "trace" => "1" })   # waits while the buffer is full
#   writer.flush(30)                                             # until all are answered for
#   writer.delivered, writer.failed
#
# For one thread at a time; it has none of its own. Producer is for everything else.
module Skep
  module Kafka
    class Producer
      class SyncProducer < Producer::ProducerClient
        FULL_SECONDS = 1.0
        private_constant :FULL_SECONDS

        attr_reader :delivered #: Integer
        attr_reader :failed #: Integer
        attr_reader :cause #: String?, of the last failure or error

        def initialize(settings) #: (Hash[String, String]) -> void
          super
          @delivered = @failed = 0
        end

        # Puts a message into the buffer; raises DeliveryFailed if librdkafka won't have it.
        def put(topic, key, payload, headers = nil, partition: nil)
          #: (String, String?, String?, ?Hash[String, String]?, ?partition: Integer?) -> void
          Kernel.loop do
            case (code = super(topic, key, payload, headers:, partition:))
            when 0 then return
            when Librdkafka::ErrorCode::QUEUE_FULL then serve(FULL_SECONDS)
            else raise DeliveryFailed.new(topic:, cause: Librdkafka::Bindings.err2str(code))
            end
          end
        end

        # Waits so many seconds at most until every message is answered for. How many are not.
        def flush(seconds) #: (Numeric) -> Integer
          deadline = OS.now + seconds
          while waiting.positive? && (left = deadline - OS.now).positive?
            serve(left)
          end
          waiting
        end

        # Takes note of what has been answered, without waiting.
        def listen = control.drain { |event| hear(event) } #: () -> void

        private

        def serve(seconds)
          control.wait([seconds, 0].max) { |event| hear(event) }
          listen
        end

        def hear(event)
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
