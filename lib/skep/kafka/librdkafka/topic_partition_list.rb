# frozen_string_literal: true

# librdkafka's list of topics, partitions and offsets, seen from Ruby.
#
#   TopicPartitionList.make([["orders", 0, 42]]) { |list| Bindings.offsets_store(handle, list.pointer) }
#   TopicPartitionList.make([["orders", 0, 42, 7]]) { |list| … }    # 7: a leader epoch
#   event.list.to_a       # => [["orders", 0, 42, 0], …] the last is an error code
#   event.list.epochs     # => [7, nil, …], the leader epochs of the same entries
#   TopicPartitionList.by_topic(event.list.keys)   # => { "orders" => [0, 1] }
module Skep
  module Kafka
    module Librdkafka
      class TopicPartitionList
        NO_OFFSET = -1001 # RD_KAFKA_OFFSET_INVALID

        attr_reader :pointer

        # Builds one for the time of the block. Without an offset it is for subscribing or
        # assigning.
        #: (Array[[String, Integer, Integer?, Integer?]]) { (TopicPartitionList) -> untyped }
        #:   -> untyped
        def self.make(entries)
          pointer = Bindings.topic_partition_list_new(entries.size)
          entries.each do |topic, partition, offset, epoch|
            entry = Bindings.topic_partition_list_add(pointer, topic, partition)
            Bindings.topic_partition_list_set_offset(pointer, topic, partition, offset) if offset
            Bindings.topic_partition_set_leader_epoch(entry.address, epoch) if epoch
          end
          yield new(pointer)
        ensure
          Bindings.topic_partition_list_destroy(pointer) if pointer
        end

        # { "orders" => [0, 1] } of [["orders", 0], ["orders", 1]], sorted.
        def self.by_topic(pairs) #: (Array[[String, Integer]]) -> Hash[String, Array[Integer]]
          pairs.sort.group_by(&:first).transform_values { |found| found.map(&:last) }
        end

        def initialize(pointer) = @pointer = pointer #: (FFI::Pointer) -> void

        def to_a #: () -> Array[[String, Integer, Integer, Integer]]
          addresses.map { |address| TopicPartitionList.entry(address) }
        end

        # The leader epoch of each entry, nil where there is none.
        def epochs #: () -> Array[Integer?]
          addresses.map do |address|
            epoch = Bindings.topic_partition_get_leader_epoch(address)
            epoch unless epoch.negative?
          end
        end

        # [topic, partition] of each.
        def keys = to_a.map { |entry| entry.first(2) } #: () -> Array[[String, Integer]]

        # A single one that lies at that address.
        #: (Integer) -> [String, Integer, Integer, Integer]
        def self.entry(address)
          bytes = Bindings.bytes(address, Bindings::PARTITION_BYTES)
          topic, partition, offset, _, _, _, code = bytes.unpack(Bindings::PARTITION)
          [Bindings.text(topic), partition, offset, code]
        end

        private

        def addresses
          return [] if pointer.null?

          count, = pointer.read_bytes(4).unpack("l")
          start = (pointer + 8).read_uint64
          Array.new(count) { |index| start + (index * Bindings::PARTITION_BYTES) }
        end
      end
    end
  end
end
