# frozen_string_literal: true

# How far librdkafka has given out a partition. What the brokers write between the messages (a
# marker ends each transaction) comes through the partition's queue as well, in its place, and isn't
# handed on: only by this it is known that it was passed.
#
#   whereabouts = Whereabouts.new(consumer.handle, "orders", 3)
#   whereabouts.offset    # => 42, behind all that its queue has given out; nil before that
#   whereabouts.close
#
# It begins anew with each assignment and seek. It knows nothing of what is done.
module Skep
  module Kafka
    class Whereabouts
      OFFSET = 16 # of it in rd_kafka_topic_partition_t
      private_constant :OFFSET

      def initialize(handle, topic, number) #: (FFI::Pointer, String, Integer) -> void
        @handle = handle
        @name = "#{topic}/#{number}"
        @list = Native.topic_partition_list_new(1)
        @entry = Native.topic_partition_list_add(@list, topic, number)
      end

      def offset #: () -> Integer?
        Native.position(@handle, @list)
        offset = @entry.get_int64(OFFSET)
        offset unless offset.negative?
      end

      def close = Native.topic_partition_list_destroy(@list) #: () -> void
      def inspect = "#<Skep::Kafka::Whereabouts of #{@name}>" #: () -> String
    end
    private_constant :Whereabouts
  end
end
