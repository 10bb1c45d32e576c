# frozen_string_literal: true

# An rd_kafka_topic_partition_list_t: topics, partitions and offsets.
#
#   TopicPartitionList.make([["orders", 0, 42, 7, "…"]]) do |list|
#     Bindings.offsets_store(handle, list.pointer)
#   end                   # 7: the leader epoch, "…": a commit's metadata; both optional
#   event.list.to_a       # => [["orders", 0, 42, 0], …] the last is an error code
#   event.list.epochs     # => [7, nil, …], the leader epochs of the same entries
#   event.list.metadata   # => ["…", nil, …], the metadata of commits
#   TopicPartitionList.by_topic(event.list.keys)   # => { "orders" => [0, 1] }
module Skep
  module Kafka
    module Librdkafka
      class TopicPartitionList
        NO_OFFSET = -1001 # RD_KAFKA_OFFSET_INVALID

        attr_reader :pointer

        # Yields a list and destroys it after the block; returns what the block returns. Lists for
        # subscribing or assigning have no offsets. (librdkafka's function that sets an offset would
        # search the list for each entry.)
        def self.make(entries)
          pointer = Bindings.topic_partition_list_new(entries.size)
          entries.each do |topic, partition, offset, epoch, metadata|
            entry = Bindings.topic_partition_list_add(pointer, topic, partition)
            Bindings::Structs::TopicPartition.new(entry)[:offset] = offset if offset
            Bindings.topic_partition_set_leader_epoch(entry, epoch) if epoch
            copy_metadata(entry, metadata) if metadata
          end
          yield new(pointer)
        ensure
          Bindings.topic_partition_list_destroy(pointer) if pointer
        end

        # librdkafka frees the copy with the list.
        def self.copy_metadata(pointer, text)
          entry = Bindings::Structs::TopicPartition.new(pointer)
          entry[:metadata] = Bindings.mem_malloc(nil, text.bytesize).put_bytes(0, text)
          entry[:metadata_size] = text.bytesize
        end
        private_class_method :copy_metadata

        # Returns { "orders" => [0, 1] } for [["orders", 0], ["orders", 1]], sorted.
        def self.by_topic(pairs)
          pairs.sort.group_by(&:first).transform_values { |found| found.map(&:last) }
        end

        def initialize(pointer) = @pointer = pointer

        # Returns [topic, partition, offset, error code] of each entry.
        def to_a
          entries.map { |entry| TopicPartitionList.entry(entry) }
        end

        # Returns the leader epoch of each entry, nil where it has none.
        def epochs
          entries.map { |entry| TopicPartitionList.epoch(entry) }
        end

        # Returns the metadata of each entry, nil where it has none.
        def metadata
          entries.map do |entry|
            fields = Bindings::Structs::TopicPartition.new(entry)
            size = fields[:metadata_size]
            fields[:metadata].read_string(size).force_encoding(Encoding::UTF_8) if size.positive?
          end
        end

        def delete(topic, partition)
          Bindings.topic_partition_list_del(pointer, topic, partition)
        end

        # Sets the offset of one entry. (librdkafka searches it.)
        def set_offset(topic, partition, offset)
          Bindings.topic_partition_list_set_offset(pointer, topic, partition, offset)
        end

        # Returns [topic, partition] of each entry.
        def keys = to_a.map { |entry| entry.first(2) }

        # Returns the same as `to_a` of a single entry.
        def self.entry(pointer)
          fields = Bindings::Structs::TopicPartition.new(pointer)
          topic = fields[:topic].force_encoding(Encoding::UTF_8)
          [topic, fields[:partition], fields[:offset], fields[:err]]
        end

        def self.epoch(pointer)
          epoch = Bindings.topic_partition_get_leader_epoch(pointer)
          epoch unless epoch.negative?
        end

        private

        def entries
          return [] if pointer.null?

          list = Bindings::Structs::TopicPartitionList.new(pointer)
          Array.new(list[:cnt]) do |index|
            list[:elems] + (index * Bindings::Structs::TopicPartition.size)
          end
        end
      end
    end
  end
end
