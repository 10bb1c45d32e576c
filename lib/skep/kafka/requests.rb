# frozen_string_literal: true

# Questions to the cluster. Each is put into the queue's answers, so that asking never waits.
#
#   Requests.offsets(client, queue, "billing", pairs, 15)
#   Requests.offsets_in(event)      # of kind :offsets => 0 or an error code: may it be read?
#   Requests.describe(client, queue, "billing", 15)
#   Requests.described_in(event)    # of kind :groups => what is known of that group
#   Requests.ends(client, queue, pairs, 15)
#   Requests.ends_in(event)         # of kind :ends => [[topic, number, offset, error code], …]
#   Requests.create(client, queue, "orders", 8, 1, 15)
#   Requests.created_in(event)      # of kind :created => [error code, text]
#   Requests.deleted_in(event)      # of kind :deleted, the same
#   Requests.topics(client, queue, ["orders"], 15)
#   Requests.ids_in(event)          # of kind :topics => { "orders" => "4WO1gjDwTeG0mHqVdd1Hgw" }
module Skep
  module Kafka
    module Requests
      ANY = 0 # RD_KAFKA_ADMIN_OP_ANY
      LATEST = -1 # RD_KAFKA_OFFSET_SPEC_LATEST
      private_constant :ANY, :LATEST

      class << self
        def offsets(client, queue, group, pairs, seconds)
          PartitionList.make(pairs) do |list|
            committed(client, queue, group, list.pointer, seconds)
          end
        end

        # The error code of the answer, 0 if the group may be read.
        def offsets_in(event) #: (Event) -> Integer
          return event.code unless event.code.zero?

          group, = list(:ListConsumerGroupOffsets_result_groups, event)
          error = group && Native.group_result_error(group)
          error.nil? || error.null? ? 0 : Native.error_code(error)
        end

        # All that the group has committed.
        def all_offsets(client, queue, group, seconds)
          committed(client, queue, group, nil, seconds)
        end

        # What was committed: [[topic, number, offset, error code], …]
        #: (Event) -> Array[[String, Integer, Integer, Integer]]
        def committed_in(event)
          group, = list(:ListConsumerGroupOffsets_result_groups, event)
          group ? PartitionList.new(Native.group_result_partitions(group)).to_a : []
        end

        def describe(client, queue, group, seconds)
          name = FFI::MemoryPointer.from_string(group)
          array = FFI::MemoryPointer.new(:pointer).write_pointer(name)
          within(client, seconds) do |options|
            Native.DescribeConsumerGroups(client.handle, array, 1, options, queue.pointer)
          end
        end

        # The error code, and if that is 0 what Description says.
        #: (Event) -> [Integer, Description?]
        def described_in(event)
          return [event.code, nil] unless event.code.zero?

          group, = list(:DescribeConsumerGroups_result_groups, event)
          error = Native.ConsumerGroupDescription_error(group)
          error.null? ? [0, Description.new(group)] : [Native.error_code(error), nil]
        end

        # Asks each broker once, whatever number of partitions it has.
        def ends(client, queue, pairs, seconds)
          PartitionList.make(pairs.map { |pair| [*pair, LATEST] }) do |list|
            within(client, seconds) do |options|
              Native.ListOffsets(client.handle, list.pointer, options, queue.pointer)
            end
          end
        end

        #: (Event) -> Array[[String, Integer, Integer, Integer]]
        def ends_in(event)
          list(:ListOffsets_result_infos, event).map do |info|
            PartitionList.entry(Native.ListOffsetsResultInfo_topic_partition(info).address)
          end
        end

        def create(client, queue, name, partitions, copies, seconds)
          topic, text = Native.complaint do |*room|
            Native.NewTopic_new(name, partitions, copies, *room)
          end
          raise CallFailed.new(call: "the topic #{name}", text:) if topic.null?

          array = FFI::MemoryPointer.new(:pointer).write_pointer(topic)
          within(client, seconds) do |options|
            Native.CreateTopics(client.handle, array, 1, options, queue.pointer)
          end
          Native.NewTopic_destroy(topic)
        end

        # The error code and text for the topic to create.
        def created_in(event) #: (Event) -> [Integer, String?]
          topic, = list(:CreateTopics_result_topics, event)
          return [event.code, event.text] unless topic

          [Native.topic_result_error(topic), Native.topic_result_error_string(topic)]
        end

        def delete(client, queue, name, seconds)
          topic = Native.DeleteTopic_new(name)
          array = FFI::MemoryPointer.new(:pointer).write_pointer(topic)
          within(client, seconds) do |options|
            Native.DeleteTopics(client.handle, array, 1, options, queue.pointer)
          end
          Native.DeleteTopic_destroy(topic)
        end

        # The error code and text for the topic to delete.
        def deleted_in(event) #: (Event) -> [Integer, String?]
          topic, = list(:DeleteTopics_result_topics, event)
          return [event.code, event.text] unless topic

          [Native.topic_result_error(topic), Native.topic_result_error_string(topic)]
        end

        def topics(client, queue, names, seconds)
          texts = names.map { |name| FFI::MemoryPointer.from_string(name) }
          array = FFI::MemoryPointer.new(:pointer, texts.size).write_array_of_pointer(texts)
          names = Native.TopicCollection_of_topic_names(array, texts.size)
          within(client, seconds) do |options|
            Native.DescribeTopics(client.handle, names, options, queue.pointer)
          end
          Native.TopicCollection_destroy(names)
        end

        # The ids of those that are there.
        def ids_in(event) #: (Event) -> Hash[String, String]
          there = list(:DescribeTopics_result_topics, event).select do |topic|
            Native.error_code(Native.TopicDescription_error(topic)).zero?
          end
          there.to_h do |topic|
            id = Native.TopicDescription_topic_id(topic)
            [Native.TopicDescription_name(topic), Native.Uuid_base64str(id)]
          end
        end

        private

        def committed(client, queue, group, partitions, seconds)
          question = Native.ListConsumerGroupOffsets_new(group, partitions)
          array = FFI::MemoryPointer.new(:pointer).write_pointer(question)
          within(client, seconds) do |options|
            Native.ListConsumerGroupOffsets(client.handle, array, 1, options, queue.pointer)
          end
          Native.ListConsumerGroupOffsets_destroy(question)
        end

        def within(client, seconds)
          options = Native.AdminOptions_new(client.handle, ANY)
          Native.complaint do |buffer, size|
            Native.AdminOptions_set_request_timeout(options, (seconds * 1000).ceil, buffer, size)
          end
          yield options
        ensure
          Native.AdminOptions_destroy(options)
        end

        def list(function, event)
          count = FFI::MemoryPointer.new(:size_t)
          array = Native.public_send(function, event.pointer, count)
          array.null? ? [] : array.read_array_of_pointer(count.read_uint64)
        end
      end
    end
    private_constant :Requests
  end
end
