# frozen_string_literal: true

# How far librdkafka has given out a partition. What the brokers write between the messages (a
# marker ends each transaction) comes through the partition's queue as well, in its place, and isn't
# handed on: only by this it is known that it was passed.
#
#   queue_position = QueuePosition.new(consumer.handle, "orders", 3)
#   queue_position.offset    # => 42, behind all that its queue has given out; nil before that
#   queue_position.epoch     # => 7, the leader epoch of what lies before that offset; nil if unknown
#   queue_position.behind?   # => true: the partition had more messages at the last fetch
#   queue_position.low       # => 17, the low watermark as of the last fetch; nil before that
#   queue_position.close
#
# It begins anew with each assignment and seek. It knows nothing of what is done.
module Skep
  module Kafka
    module Librdkafka
      class QueuePosition
        OFFSET = 16 # of it in rd_kafka_topic_partition_t
        private_constant :OFFSET

        def initialize(handle, topic, number) #: (FFI::Pointer, String, Integer) -> void
          @handle = handle
          @name = "#{topic}/#{number}"
          @list = Bindings.topic_partition_list_new(1)
          @entry = Bindings.topic_partition_list_add(@list, topic, number)
          @topic, @number = topic, number
          @marks = FFI::MemoryPointer.new(:int64, 2) # the partition's beginning and end
        end

        def offset #: () -> Integer?
          Bindings.position(@handle, @list)
          offset = @entry.get_int64(OFFSET)
          offset unless offset.negative?
        end

        # As of the last call of `offset`.
        def epoch #: () -> Integer?
          epoch = Bindings.topic_partition_get_leader_epoch(@entry.address)
          epoch unless epoch.negative?
        end

        # Returns true if the partition's end, as of the last fetch, lies further.
        def behind? #: () -> bool
          _, end_ = watermarks
          (offset || end_) < end_
        end

        # The offset of the first message or record that retention has left.
        def low #: () -> Integer?
          low, = watermarks
          low unless low.negative?
        end

        def close = Bindings.topic_partition_list_destroy(@list) #: () -> void
        def inspect = "#<Skep::Kafka::Librdkafka::QueuePosition of #{@name}>" #: () -> String

        private

        def watermarks
          Bindings.get_watermark_offsets(@handle, @topic, @number, @marks, @marks + 8)
          @marks.read_array_of_int64(2)
        end
      end
    end
  end
end
