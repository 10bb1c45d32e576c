# frozen_string_literal: true

# A librdkafka client that writes: puts messages into librdkafka's buffer, with all that may belong
# to one.
#
#   sender = Sender.new({ "bootstrap.servers" => "…" })
#   sender.put("orders", "key", "payload")                        # => 0, or an error code
#   sender.put("orders", nil, "payload", headers: { "trace" => "1" }, tag: 7)
#
# It never waits: QUEUE_FULL is the caller's to wait for. What became of a message comes back in the
# client's queue, with its tag. May be used from several threads.
module Skep
  module Kafka
    class Sender < Client
      ANY_PARTITION = -1
      COPY = 0x2 # RD_KAFKA_MSG_F_COPY
      EVERYTHING = 0x3 # RD_KAFKA_PURGE_F_QUEUE and _F_INFLIGHT
      # rd_kafka_vu_t: a type (rd_kafka_vtype_t) and 64 bytes of union.
      VU = "lx4q%d"
      VU_BYTES = 72
      TOPIC, PARTITION, VALUE, KEY, TAG, FLAGS, TIMESTAMP, HEADER = 1, 3, 4, 5, 6, 7, 8, 9
      private_constant :ANY_PARTITION, :COPY, :EVERYTHING, :VU, :VU_BYTES
      private_constant :TOPIC, :PARTITION, :VALUE, :KEY, :TAG, :FLAGS, :TIMESTAMP, :HEADER

      def initialize(settings) #: (Hash[String, String]) -> void
        super(settings, type: Native::PRODUCER)
        @topics = {}
        @topics_lock = Mutex.new
      end

      # timestamp: milliseconds since 1970; tag: what comes back with the answer. Raises what
      # Producing.check does.
      #
      #: (String, String?, String?, ?headers: Hash[String, String?]?, ?partition: Integer?,
      #:   ?timestamp: Integer?, ?tag: Integer) -> Integer
      def put(topic, key, payload, headers: nil, partition: nil, timestamp: nil, tag: 0)
        partition ||= ANY_PARTITION
        Producing.check(topic, payload, key, partition)
        return plain(topic, key, payload, partition, tag) unless headers || timestamp

        texts = [["", topic], ["", payload], ["", key], *headers]
        full(texts, [[PARTITION, partition], [FLAGS, COPY], [TAG, tag],
                     *([[TIMESTAMP, timestamp]] if timestamp)])
      end

      # How many messages haven't been answered for.
      def waiting = Native.outq_len(handle) #: () -> Integer

      # Gives up what is still here: it is answered for by that.
      def purge = Native.purge(handle, EVERYTHING) #: () -> void

      def close #: () -> void
        return if closed?

        @topics.each_value { |topic| Native.topic_destroy(topic) }
        super
      end

      private

      # The quicker way.
      def plain(topic, key, payload, partition, tag)
        native = @topics[topic] || @topics_lock.synchronize do
          @topics[topic] ||= Native.topic_new(handle, topic, nil)
        end
        result = Native.produce(native, partition, COPY, payload, payload.to_s.bytesize,
                                key, key.to_s.bytesize, tag)
        result.zero? ? 0 : Native.errno2err(FFI.errno)
      end

      # Names and texts lie one after the other in one piece of memory for the time of the call.
      def full(texts, values)
        bytes = texts.flatten.map { |text| text.to_s.b << 0 }.join
        memory = FFI::MemoryPointer.new(:char, bytes.bytesize).put_bytes(0, bytes)
        values.concat(addressed(texts, memory.address))
        packed = values.map { |value| value.pack(VU % (value.size - 1)).ljust(VU_BYTES, "\0") }
        error = Native.produceva(handle, packed.join, values.size)
        error.null? ? 0 : Native.error_code(error).tap { Native.error_destroy(error) }
      end

      # The topic by its address, payload and key with their sizes, headers with a name before it.
      def addressed(texts, address)
        places = texts.map do |name, text|
          value = address + name.bytesize + 1
          placed = [address, text ? value : 0, text.to_s.bytesize]
          address = value + text.to_s.bytesize + 1
          placed
        end
        (_, topic, _), (_, *payload), (_, *key), *headers = places
        [[TOPIC, topic], [VALUE, *payload], [KEY, *key],
         *headers.map { |header| [HEADER, *header] }]
      end
    end
    private_constant :Sender
  end
end
