# frozen_string_literal: true

# librdkafka's structs (rdkafka.h), named like their C types without "rd_kafka_". Needs the gem ffi:
# Bindings.load loads this file once the gem is there.
#
#   entry = Structs::TopicPartition.new(pointer)
#   entry[:offset]   # => 42
module Skep
  module Kafka
    module Librdkafka
      module Bindings
        module Structs
          class Message < FFI::Struct
            layout :err, :int, :rkt, :pointer, :partition, :int32, :payload, :pointer,
                   :len, :size_t, :key, :pointer, :key_len, :size_t, :offset, :int64,
                   :_private, :uintptr_t
          end

          class TopicPartition < FFI::Struct
            layout :topic, :string, :partition, :int32, :offset, :int64, :metadata, :pointer,
                   :metadata_size, :size_t, :opaque, :pointer, :err, :int, :_private, :pointer
          end

          class TopicPartitionList < FFI::Struct
            layout :cnt, :int, :size, :int, :elems, :pointer
          end

          class Metadata < FFI::Struct
            layout :broker_cnt, :int, :brokers, :pointer, :topic_cnt, :int, :topics, :pointer,
                   :orig_broker_id, :int32, :orig_broker_name, :pointer
          end

          class MetadataTopic < FFI::Struct
            layout :topic, :pointer, :partition_cnt, :int, :partitions, :pointer, :err, :int
          end
        end
      end
    end
  end
end
