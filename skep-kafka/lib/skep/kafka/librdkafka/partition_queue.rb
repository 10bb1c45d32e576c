# frozen_string_literal: true

require "skep/kafka/librdkafka/partition_queue/fallback"

# One partition's message queue inside a consumer. Its messages stay in this queue instead of being
# forwarded to the consumer's queue, so that each partition is read separately.
#
#   queue = PartitionQueue.new(consumer.handle, "orders", 3, 500)   # reads up to 500 at once
#   queue.notify(wakeup_pipe, 7)      # from here on librdkafka wakes the pipe with 7
#   message_set, errors, count = queue.read(500)   # what has been fetched; never waits
#   queue.position           # => 42, the offset after the last message or record read
#   queue.leader_epoch       # => 7, of the message before that offset
#   queue.low_watermark      # => 17
#   queue.close
#
# `read` is written in C, in ext/skep_kafka/partition_queue.c, and again in Ruby, in
# partition_queue/fallback.rb.
#
# MessageSet is what a read returns, a copy: it outlives the queue, its client and a fork.
# The queue also holds the partition's errors: `read` returns them as [code, text, offset].
# Not thread-safe.
module Skep
  module Kafka
    module Librdkafka
      class PartitionQueue
        NO_HEADERS = {}.freeze
        private_constant :NO_HEADERS

        include Fallback

        # Returns true if the C extension reads, false if the Ruby fallback does.
        def self.native? = instance_method(:attach).owner == self

        def initialize(handle, topic, partition, limit)
          @handle = handle
          @topic = -topic # frozen: handlers see it
          @partition = partition
          @pointer = Bindings.queue_get_partition(handle, topic, partition)
          Bindings.queue_forward(@pointer, nil)
          @list = Bindings.topic_partition_list_new(1)
          @entry = Bindings.topic_partition_list_add(@list, topic, partition)
          @offset_at = Bindings::Structs::TopicPartition.offset_of(:offset)
          @watermarks = FFI::MemoryPointer.new(:int64, 2)
          attach(@pointer.address, @topic, partition, limit)
        end

        # From here on librdkafka writes `number` into the pipe when a message arrives in the empty
        # queue. A later queue of the same partition shares the native one: `close` silences both.
        def notify(wakeup_pipe, number)
          wakeup_pipe.attach(@pointer, number)
        end

        # Returns the offset after everything read from the queue, nil before the first read and
        # after an assignment or a seek. Records that aren't messages (the marker that ends each
        # transaction) pass through the queue too but are never returned: only the position shows
        # that they were passed.
        def position
          return unless @pointer

          Bindings.position(@handle, @list)
          offset = @entry.get_int64(@offset_at)
          offset unless offset.negative?
        end

        # Returns the leader epoch of what lies before the offset that `position` returned last.
        def leader_epoch = TopicPartitionList.epoch(@entry)

        # Returns the offset of the first message that retention has left, as of the last fetch; nil
        # before that.
        def low_watermark
          low, = watermarks
          low unless low.negative?
        end

        def close
          return unless @pointer

          detach
          Bindings.queue_io_event_enable(@pointer, -1, nil, 0)
          Bindings.queue_destroy(@pointer)
          Bindings.topic_partition_list_destroy(@list)
          @pointer = nil
        end

        def inspect = "#<Skep::Kafka::Librdkafka::PartitionQueue #{@topic}/#{@partition}>"

        private

        def watermarks
          Bindings.get_watermark_offsets(@handle, @topic, @partition, @watermarks, @watermarks + 8)
          @watermarks.read_array_of_int64(2)
        end
      end
    end
  end
end
