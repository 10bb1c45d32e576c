# frozen_string_literal: true

# Questions to the cluster. Each is put into the queue's answers, so that asking never waits.
#
#   AdminRequests.offsets(client, queue, "billing", pairs, 15)
#   AdminRequests.offsets_in(event)      # of kind :offsets => 0 or an error code: may it be read?
#   AdminRequests.describe(client, queue, "billing", 15)
#   AdminRequests.described_in(event)    # of kind :groups => what is known of that group
#   AdminRequests.ends(client, queue, pairs, 15)
#   AdminRequests.ends_in(event)         # of kind :ends => [[topic, number, offset, error code], …]
#   AdminRequests.create(client, queue, "orders", 8, 1, 15)
#   AdminRequests.created_in(event)      # of kind :created => [error code, text]
#   AdminRequests.deleted_in(event)      # of kind :deleted, the same
#   AdminRequests.topics(client, queue, ["orders"], 15)
#   AdminRequests.ids_in(event)          # of kind :topics => { "orders" => "4WO1gjDwTeG0mHqVdd1Hgw" }
module Skep
  module Kafka
    module Admin
      module AdminRequests
        ANY = 0 # RD_KAFKA_ADMIN_OP_ANY
        LATEST = -1 # RD_KAFKA_OFFSET_SPEC_LATEST
        private_constant :ANY, :LATEST

        class << self
          def offsets(client, queue, group, pairs, seconds)
            Librdkafka::TopicPartitionList.make(pairs) do |list|
              committed(client, queue, group, list.pointer, seconds)
            end
          end

          # The error code of the answer, 0 if the group may be read.
          def offsets_in(event) #: (Librdkafka::EventQueue::Event) -> Integer
            return event.code unless event.code.zero?

            group, = list(:ListConsumerGroupOffsets_result_groups, event)
            error = group && Librdkafka::Bindings.group_result_error(group)
            error.nil? || error.null? ? 0 : Librdkafka::Bindings.error_code(error)
          end

          # All that the group has committed.
          def all_offsets(client, queue, group, seconds)
            committed(client, queue, group, nil, seconds)
          end

          # What was committed: [[topic, number, offset, error code], …]
          #: (Librdkafka::EventQueue::Event) -> Array[[String, Integer, Integer, Integer]]
          def committed_in(event)
            group, = list(:ListConsumerGroupOffsets_result_groups, event)
            group ? Librdkafka::TopicPartitionList.new(Librdkafka::Bindings.group_result_partitions(group)).to_a : []
          end

          def describe(client, queue, group, seconds)
            name = FFI::MemoryPointer.from_string(group)
            array = FFI::MemoryPointer.new(:pointer).write_pointer(name)
            within(client, seconds) do |options|
              Librdkafka::Bindings.DescribeConsumerGroups(client.handle, array, 1, options,
                                                          queue.pointer)
            end
          end

          # The error code, and if that is 0 what GroupDescription says.
          #: (Librdkafka::EventQueue::Event) -> [Integer, GroupDescription?]
          def described_in(event)
            return [event.code, nil] unless event.code.zero?

            group, = list(:DescribeConsumerGroups_result_groups, event)
            error = Librdkafka::Bindings.ConsumerGroupDescription_error(group)
            error.null? ? [0,
                           GroupDescription.new(group)] : [Librdkafka::Bindings.error_code(error),
                                                           nil]
          end

          # Asks each broker once, whatever number of partitions it has.
          def ends(client, queue, pairs, seconds)
            Librdkafka::TopicPartitionList.make(pairs.map { |pair| [*pair, LATEST] }) do |list|
              within(client, seconds) do |options|
                Librdkafka::Bindings.ListOffsets(client.handle, list.pointer, options,
                                                 queue.pointer)
              end
            end
          end

          #: (Librdkafka::EventQueue::Event) -> Array[[String, Integer, Integer, Integer]]
          def ends_in(event)
            list(:ListOffsets_result_infos, event).map do |info|
              Librdkafka::TopicPartitionList.entry(Librdkafka::Bindings.ListOffsetsResultInfo_topic_partition(info))
            end
          end

          def create(client, queue, name, partitions, copies, seconds)
            topic, text = Librdkafka::Bindings.with_error_buffer do |*room|
              Librdkafka::Bindings.NewTopic_new(name, partitions, copies, *room)
            end
            raise LibrdkafkaError.new(call: "the topic #{name}", text:) if topic.null?

            array = FFI::MemoryPointer.new(:pointer).write_pointer(topic)
            within(client, seconds) do |options|
              Librdkafka::Bindings.CreateTopics(client.handle, array, 1, options, queue.pointer)
            end
            Librdkafka::Bindings.NewTopic_destroy(topic)
          end

          # The error code and text for the topic to create.
          def created_in(event) #: (Librdkafka::EventQueue::Event) -> [Integer, String?]
            topic, = list(:CreateTopics_result_topics, event)
            return [event.code, event.text] unless topic

            [Librdkafka::Bindings.topic_result_error(topic), Librdkafka::Bindings.topic_result_error_string(topic)]
          end

          def delete(client, queue, name, seconds)
            topic = Librdkafka::Bindings.DeleteTopic_new(name)
            array = FFI::MemoryPointer.new(:pointer).write_pointer(topic)
            within(client, seconds) do |options|
              Librdkafka::Bindings.DeleteTopics(client.handle, array, 1, options, queue.pointer)
            end
            Librdkafka::Bindings.DeleteTopic_destroy(topic)
          end

          # The error code and text for the topic to delete.
          def deleted_in(event) #: (Librdkafka::EventQueue::Event) -> [Integer, String?]
            topic, = list(:DeleteTopics_result_topics, event)
            return [event.code, event.text] unless topic

            [Librdkafka::Bindings.topic_result_error(topic), Librdkafka::Bindings.topic_result_error_string(topic)]
          end

          def topics(client, queue, names, seconds)
            texts = names.map { |name| FFI::MemoryPointer.from_string(name) }
            array = FFI::MemoryPointer.new(:pointer, texts.size).write_array_of_pointer(texts)
            names = Librdkafka::Bindings.TopicCollection_of_topic_names(array, texts.size)
            within(client, seconds) do |options|
              Librdkafka::Bindings.DescribeTopics(client.handle, names, options, queue.pointer)
            end
            Librdkafka::Bindings.TopicCollection_destroy(names)
          end

          # The ids of those that are there.
          def ids_in(event) #: (Librdkafka::EventQueue::Event) -> Hash[String, String]
            there = list(:DescribeTopics_result_topics, event).select do |topic|
              Librdkafka::Bindings.error_code(Librdkafka::Bindings.TopicDescription_error(topic)).zero?
            end
            there.to_h do |topic|
              id = Librdkafka::Bindings.TopicDescription_topic_id(topic)
              [Librdkafka::Bindings.TopicDescription_name(topic), Librdkafka::Bindings.Uuid_base64str(id)]
            end
          end

          private

          def committed(client, queue, group, partitions, seconds)
            question = Librdkafka::Bindings.ListConsumerGroupOffsets_new(group, partitions)
            array = FFI::MemoryPointer.new(:pointer).write_pointer(question)
            within(client, seconds) do |options|
              Librdkafka::Bindings.ListConsumerGroupOffsets(client.handle, array, 1, options,
                                                            queue.pointer)
            end
            Librdkafka::Bindings.ListConsumerGroupOffsets_destroy(question)
          end

          def within(client, seconds)
            options = Librdkafka::Bindings.AdminOptions_new(client.handle, ANY)
            Librdkafka::Bindings.with_error_buffer do |buffer, size|
              Librdkafka::Bindings.AdminOptions_set_request_timeout(options, (seconds * 1000).ceil,
                                                                    buffer, size)
            end
            yield options
          ensure
            Librdkafka::Bindings.AdminOptions_destroy(options)
          end

          def list(function, event)
            count = FFI::MemoryPointer.new(:size_t)
            array = Librdkafka::Bindings.public_send(function, event.pointer, count)
            array.null? ? [] : array.read_array_of_pointer(count.read_uint64)
          end
        end
      end
    end
  end
end
