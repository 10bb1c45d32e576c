# frozen_string_literal: true

require "skep/kafka/librdkafka/partition_queue/fallback"

# Takes messages out of a partition's native queue, many with one call.
#
#   partition_queue = PartitionQueue.new(queue, "orders", 3, 500)
#   message_set, errors, count = partition_queue.read(500)   # what is there now, so many at most; never waits
#   partition_queue.close                             # before the queue is destroyed
#
# An error of the partition comes through the same queue and is given as its code, text and offset.
# A message set has nothing to do with librdkafka any more: it outlives reader, client and a fork.
# For one thread at a time.
module Skep
  module Kafka
    module Librdkafka
      class PartitionQueue
        NO_HEADERS = {}.freeze
        private_constant :NO_HEADERS

        include Fallback

        #: (FFI::Pointer, String, Integer, Integer) -> void
        def initialize(queue, topic, partition, limit)
          @topic = topic
          @partition = partition
          attach(queue.address, topic, partition, limit)
        end

        # Does the C read, or its fallback?
        def self.native? = instance_method(:attach).owner == self #: () -> bool

        def inspect
          "#<Skep::Kafka::Librdkafka::PartitionQueue #{@topic}/#{@partition}>"
        end #: () -> String
      end
    end
  end
end
