# frozen_string_literal: true

# A librdkafka client that writes: puts messages into librdkafka's buffer, with all that may belong
# to one.
#
#   sender = ProducerClient.new({ "bootstrap.servers" => "…" })
#   sender.put("orders", "key", "payload")                        # => 0, or an error code
#   sender.put("orders", nil, "payload", headers: { "trace" => "1" }, tag: 7)
#
# It never waits: QUEUE_FULL is the caller's to wait for. What became of a message comes back in the
# client's queue, with its tag. May be used from several threads.
module Skep
  module Kafka
    class Producer
      class ProducerClient < Librdkafka::Client
        ANY_PARTITION = -1
        COPY = 0x2 # RD_KAFKA_MSG_F_COPY
        EVERYTHING = 0x3 # RD_KAFKA_PURGE_F_QUEUE and _F_INFLIGHT
        # rd_kafka_vu_t: a type (rd_kafka_vtype_t) and 64 bytes of union.
        VU = "lx4q%d"
        VU_BYTES = 72
        TOPIC, PARTITION, VALUE, KEY, TAG, FLAGS, TIMESTAMP, HEADERS = 1, 3, 4, 5, 6, 7, 8, 10
        private_constant :ANY_PARTITION, :COPY, :EVERYTHING, :VU, :VU_BYTES
        private_constant :TOPIC, :PARTITION, :VALUE, :KEY, :TAG, :FLAGS, :TIMESTAMP, :HEADERS

        def initialize(settings) #: (Hash[String, String]) -> void
          super(settings, type: Librdkafka::Bindings::PRODUCER)
          @topics = {}
          @topics_lock = Mutex.new
        end

        # headers: an Array is written as a repeated header; timestamp: milliseconds since 1970;
        # tag: what comes back with the answer. Raises what ProduceMethods.check does.
        #
        #: (String, String?, String?, ?headers: Hash[untyped, untyped]?, ?partition: Integer?,
        #:   ?timestamp: Integer?, ?tag: Integer) -> Integer
        def put(topic, key, payload, headers: nil, partition: nil, timestamp: nil, tag: 0)
          partition ||= ANY_PARTITION
          ProduceMethods.check(topic, payload, key, partition, headers)
          return plain(topic, key, payload, partition, tag) unless headers || timestamp

          values = [[PARTITION, partition], [FLAGS, COPY], [TAG, tag]]
          values << [TIMESTAMP, timestamp] if timestamp
          full([topic, payload, key], values, headers || {})
        end

        # How many messages haven't been answered for.
        def waiting = Librdkafka::Bindings.outq_len(handle) #: () -> Integer

        # Sends now what waits for a fuller batch, as long as it takes until none is left that
        # hasn't been answered for, so long at most.
        def flush(milliseconds)
          Librdkafka::Bindings.flush(handle, milliseconds)
        end #: (Integer) -> void

        # Gives up what is still here: it is answered for by that.
        def purge = Librdkafka::Bindings.purge(handle, EVERYTHING) #: () -> void

        def close #: () -> void
          return if closed?

          @topics.each_value { |topic| Librdkafka::Bindings.topic_destroy(topic) }
          super
        end

        private

        # The quicker way.
        def plain(topic, key, payload, partition, tag)
          native = @topics[topic] || @topics_lock.synchronize do
            @topics[topic] ||= Librdkafka::Bindings.topic_new(handle, topic, nil)
          end
          result = Librdkafka::Bindings.produce(native, partition, COPY, payload, payload.to_s.bytesize,
                                  key, key.to_s.bytesize, tag)
          result.zero? ? 0 : Librdkafka::Bindings.errno2err(FFI.errno)
        end

        # Headers are a list that stays ours until the message was taken: those that come one by one
        # librdkafka destroys twice where it doesn't take it (2.11).
        def full(texts, values, headers)
          list = list_of(headers)
          memory = FFI::MemoryPointer.from_string(texts.map { |text| text.to_s.b << 0 }.join)
          values = [*values, *addressed(texts, memory.address), [HEADERS, list.address]]
          packed = values.map { |value| value.pack(VU % (value.size - 1)).ljust(VU_BYTES, "\0") }
          error = Librdkafka::Bindings.produceva(handle, packed.join, values.size)
          return 0 if error.null?

          Librdkafka::Bindings.headers_destroy(list)
          Librdkafka::Bindings.error_code(error).tap { Librdkafka::Bindings.error_destroy(error) }
        end

        def list_of(headers)
          list = Librdkafka::Bindings.headers_new(headers.size)
          headers.each do |name, values|
            name = name.to_s.b
            (values.is_a?(Array) ? values : [values]).each do |value|
              Librdkafka::Bindings.header_add(list, name, name.bytesize, value&.b,
                                              value.to_s.bytesize)
            end
          end
          list
        end

        # The three by their addresses, which lie one after the other; payload and key with sizes.
        def addressed(texts, address)
          topic, payload, key = texts.map do |text|
            place = [text ? address : 0, text.to_s.bytesize]
            address += text.to_s.bytesize + 1
            place
          end
          [[TOPIC, topic.first], [VALUE, *payload], [KEY, *key]]
        end
      end
    end
  end
end
