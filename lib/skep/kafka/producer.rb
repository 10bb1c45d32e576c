# frozen_string_literal: true

# Writes messages and knows which arrived.
#
#   producer = Producer.new({ "bootstrap.servers" => "…" })
#   producer.put("orders", "key", "payload", { "trace" => "1" })   # waits while the buffer is full
#   producer.flush(30)                                             # until all are answered for
#   producer.delivered, producer.failed
#
# For one thread at a time.
module Skep
  module Kafka
    class Producer < Client
      ANY_PARTITION = -1
      COPY = 0x2 # RD_KAFKA_MSG_F_COPY
      FULL_SECONDS = 1.0
      # rd_kafka_vu_t: a type (rd_kafka_vtype_t) and 64 bytes of union.
      VU = "lx4Q%d"
      VU_BYTES = 72
      TOPIC, VALUE, KEY, FLAGS, HEADER = 1, 4, 5, 7, 9
      private_constant :ANY_PARTITION, :COPY, :FULL_SECONDS, :VU, :VU_BYTES
      private_constant :TOPIC, :VALUE, :KEY, :FLAGS, :HEADER

      attr_reader :delivered #: Integer
      attr_reader :failed #: Integer
      attr_reader :cause #: String?, of the last failure or error

      def initialize(settings) #: (Hash[String, String]) -> void
        super(settings, type: Native::PRODUCER)
        @delivered = @failed = 0
        @topics = {}
      end

      # Puts a message into the buffer; raises NotDelivered if librdkafka won't have it.
      def put(topic, key, payload, headers = nil, partition: nil)
        #: (String, String?, String?, ?Hash[String, String]?, ?partition: Integer?) -> void
        code = headers ? full(topic, key, payload, headers) : plain(topic, key, payload, partition)
        case code
        when 0 then return
        when Codes::QUEUE_FULL then serve(FULL_SECONDS)
        else raise NotDelivered.new(topic:, cause: Native.err2str(code))
        end
        put(topic, key, payload, headers, partition:)
      end

      # Waits so many seconds at most until every message is answered for. How many are not.
      def flush(seconds) #: (Numeric) -> Integer
        deadline = OS.now + seconds
        while waiting.positive? && (left = deadline - OS.now).positive?
          serve(left)
        end
        waiting
      end

      # Messages not yet answered for.
      def waiting = Native.outq_len(handle) #: () -> Integer

      # Takes note of what has been answered, without waiting.
      def listen = control.drain { |event| hear(event) } #: () -> void

      def close #: () -> void
        return if closed?

        @topics.each_value { |topic| Native.topic_destroy(topic) }
        super
      end

      private

      def serve(seconds)
        control.wait([seconds, 0].max) { |event| hear(event) }
        listen
      end

      def hear(event)
        case event.kind
        when :delivery then event.deliveries.each { |code| count(code) }
        when :error then @cause = event.text
        end
      end

      def count(code)
        return @delivered += 1 if code.zero?

        @failed += 1
        @cause = Native.err2str(code)
      end

      def plain(topic, key, payload, partition)
        native = @topics[topic] ||= Native.topic_new(handle, topic, nil)
        result = Native.produce(native, partition || ANY_PARTITION, COPY,
                                payload, payload.to_s.bytesize, key, key.to_s.bytesize, nil)
        result.zero? ? 0 : Native.errno2err(FFI.errno)
      end

      def full(topic, key, payload, headers)
        held = []
        values = [[TOPIC, address(topic, held)], [FLAGS, COPY],
                  [VALUE, *sized(payload, held)], [KEY, *sized(key, held)],
                  *headers.map { |name, value| [HEADER, address(name, held), *sized(value, held)] }]
        packed = values.map { |value| value.pack(VU % (value.size - 1)).ljust(VU_BYTES, "\0") }
        error = Native.produceva(handle, packed.join, values.size)
        error.null? ? 0 : Native.error_code(error).tap { Native.error_destroy(error) }
      end

      def sized(text, held) = [address(text, held), text.to_s.bytesize]

      def address(text, held)
        return 0 unless text

        held << FFI::MemoryPointer.from_string(text)
        held.last.address
      end
    end
    private_constant :Producer
  end
end
