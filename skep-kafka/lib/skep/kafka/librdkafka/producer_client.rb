# frozen_string_literal: true

# The librdkafka client of a producer: adds messages to librdkafka's buffer.
#
#   client = ProducerClient.new({ "bootstrap.servers" => "…" })
#   client.put("orders", "key", "payload")                        # => 0, or an error code
#   client.put("orders", nil, "payload", headers: { "trace" => "1" }, tag: 7)
#
# It never waits: the caller handles QUEUE_FULL. The delivery report of a message arrives in the
# client's queue, with its tag. Thread-safe.
module Skep
  module Kafka
    module Librdkafka
      class ProducerClient < Client
        ANY_PARTITION = -1
        COPY = 0x2 # RD_KAFKA_MSG_F_COPY
        EVERYTHING = 0x3 # RD_KAFKA_PURGE_F_QUEUE and _F_INFLIGHT
        # rd_kafka_vu_t: a type (rd_kafka_vtype_t) and 64 bytes of union.
        VU = "lx4q%d"
        VU_BYTES = 72
        TOPICS = 1_000 # whose handles are kept, as a handle may be in use by any thread
        TOPIC, PARTITION, VALUE, KEY, TAG, FLAGS, TIMESTAMP, HEADERS = 1, 3, 4, 5, 6, 7, 8, 10
        private_constant :ANY_PARTITION, :COPY, :EVERYTHING, :VU, :VU_BYTES, :TOPICS
        private_constant :TOPIC, :PARTITION, :VALUE, :KEY, :TAG, :FLAGS, :TIMESTAMP, :HEADERS

        def initialize(settings)
          super(settings, type: Bindings::PRODUCER)
          @topics = {}
          @topics_lock = Mutex.new
        end

        # headers: an Array is written as a repeated header; timestamp: milliseconds since 1970;
        # tag: the delivery report has it. The arguments must be checked before.
        def put(topic, key, payload, headers: nil, partition: nil, timestamp: nil, tag: 0)
          partition ||= ANY_PARTITION
          unless headers || timestamp
            topic_handle = topic_handle(topic)
            return put_plain(topic_handle, key, payload, partition, tag) if topic_handle
          end

          values = [[PARTITION, partition], [FLAGS, COPY], [TAG, tag]]
          values << [TIMESTAMP, timestamp] if timestamp
          put_full([topic, payload, key], values, headers || {})
        end

        # Returns how many messages are not acknowledged.
        def waiting = Bindings.outq_len(handle)

        # Sends messages without waiting for linger.ms, until none is left or the time is up.
        # Releases the GVL, but can't be interrupted.
        def flush(milliseconds)
          Bindings.flush(handle, milliseconds)
        end

        # Drops all messages, queued or in flight: their delivery reports say that they failed.
        def purge = Bindings.purge(handle, EVERYTHING)

        def close
          return if closed?

          @topics.each_value { |topic| Bindings.topic_destroy(topic) }
          super
        end

        private

        # Returns nil for the topics after the first TOPICS.
        def topic_handle(topic)
          @topics[topic] || @topics_lock.synchronize do
            next @topics[topic] if @topics.key?(topic) || @topics.size >= TOPICS

            @topics[topic] = Bindings.topic_new(handle, topic, nil)
          end
        end

        # Faster: for a message without headers and timestamp.
        def put_plain(topic_handle, key, payload, partition, tag)
          result = Bindings.produce(topic_handle, partition, COPY,
                                                payload, payload.to_s.bytesize,
                                                key, key.to_s.bytesize, tag)
          result.zero? ? 0 : Bindings.errno2err(FFI.errno)
        end

        # The headers are one list, which belongs to librdkafka once it has accepted the message.
        # Headers passed one by one are destroyed twice if it rejects the message (librdkafka 2.11).
        def put_full(texts, values, headers)
          list = header_list(headers)
          memory = FFI::MemoryPointer.from_string(texts.map { |text| text.to_s.b << 0 }.join)
          values = [*values, *text_values(texts, memory.address), [HEADERS, list.address]]
          packed = values.map { |value| value.pack(VU % (value.size - 1)).ljust(VU_BYTES, "\0") }
          error = Bindings.produceva(handle, packed.join, values.size)
          return 0 if error.null?

          Bindings.headers_destroy(list)
          Bindings.error_code(error).tap { Bindings.error_destroy(error) }
        end

        def header_list(headers)
          list = Bindings.headers_new(headers.size)
          headers.each do |name, values|
            name = name.to_s.b
            (values.is_a?(Array) ? values : [values]).each do |value|
              Bindings.header_add(list, name, name.bytesize, value&.b,
                                              value.to_s.bytesize)
            end
          end
          list
        end

        # The topic, payload and key lie one after the other in memory: their addresses, and the
        # sizes of payload and key.
        def text_values(texts, address)
          topic, payload, key = texts.map do |text|
            location = [text ? address : 0, text.to_s.bytesize]
            address += text.to_s.bytesize + 1
            location
          end
          [[TOPIC, topic.first], [VALUE, *payload], [KEY, *key]]
        end
      end
    end
  end
end
