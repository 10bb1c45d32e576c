# frozen_string_literal: true

# librdkafka's admin API. A request doesn't wait: its answer comes as an event into the queue, and a
# method whose name ends with `_in` reads it.
#
#   AdminRequests.group_offsets(client, queue, "billing", pairs, 15)   # pairs nil: all of the group
#   AdminRequests.group_offsets_error(event)   # => 0, or the error code
#   AdminRequests.group_offsets_in(event)      # => [[topic, number, offset, error code], …]
#   AdminRequests.describe_group(client, queue, "billing", 15)
#   AdminRequests.group_description_in(event)  # => [error code, GroupDescription?]
#   AdminRequests.end_offsets(client, queue, pairs, 15)   # committed: true, for read_committed
#   AdminRequests.end_offsets_in(event)        # => [[topic, number, offset, error code], …]
#   AdminRequests.create_topic(client, queue, "orders", 8, 1, 15)
#   AdminRequests.created_in(event)            # => [error code, text]
#   AdminRequests.delete_topic(client, queue, "orders", 15)
#   AdminRequests.deleted_in(event)            # => [error code, text]
#   AdminRequests.delete_records(client, queue, [["orders", 0, 42]], 15)   # those before 42
#   AdminRequests.records_deleted_in(event)    # => error code
#   AdminRequests.describe_topics(client, queue, ["orders"], 15)
#   AdminRequests.topic_ids_in(event)          # => { "orders" => "4WO1gjDwTeG0mHqVdd1Hgw" }
module Skep
  module Kafka
    module Librdkafka
      module AdminRequests
        # The timeout of a request whose answer the caller awaits no longer than it wants to. A
        # request that librdkafka itself times out can abort the process (2.11).
        NO_TIMEOUT = 3600.0
        ANY = 0 # RD_KAFKA_ADMIN_OP_ANY
        LATEST = -1 # RD_KAFKA_OFFSET_SPEC_LATEST
        COMMITTED = 1 # RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED
        private_constant :ANY, :LATEST, :COMMITTED

        # A consumer group's state and members. It copies the answer, which librdkafka frees.
        class GroupDescription
          Member = Struct.new(:id, :instance, :client, :host, :partitions)

          # For a group that the cluster doesn't describe.
          NONE = Struct.new(:state, :assignor, :members) { def dead? = true }
                       .new("Unknown", nil, [])

          attr_reader :state # such as "Stable"
          attr_reader :assignor
          attr_reader :members

          def initialize(pointer)
            state = Bindings.ConsumerGroupDescription_state(pointer)
            @state = Bindings.consumer_group_state_name(state)
            @assignor = text(Bindings.ConsumerGroupDescription_partition_assignor(pointer))
            count = Bindings.ConsumerGroupDescription_member_count(pointer)
            @members = Array.new(count) do |index|
              member(Bindings.ConsumerGroupDescription_member(pointer, index))
            end
          end

          # Returns true if the group neither has members nor has committed anything.
          def dead? = state == "Dead"

          def inspect
            "#<Skep::Kafka::Librdkafka::AdminRequests::GroupDescription #{state} " \
              "members=#{members.size}>"
          end

          private

          def member(pointer)
            assignment = Bindings.MemberDescription_assignment(pointer)
            assigned = Bindings.MemberAssignment_partitions(assignment)
            Member.new(text(Bindings.MemberDescription_consumer_id(pointer)),
                       text(Bindings.MemberDescription_group_instance_id(pointer)),
                       text(Bindings.MemberDescription_client_id(pointer)),
                       text(Bindings.MemberDescription_host(pointer))&.delete_prefix("/"),
                       TopicPartitionList.new(assigned).keys)
          end

          def text(string) = string.to_s.empty? ? nil : string.dup.force_encoding("UTF-8").scrub
        end

        class << self
          # pairs: [[topic, number], …]; nil: all that the group has committed.
          def group_offsets(client, queue, group, pairs, seconds)
            return list_group_offsets(client, queue, group, nil, seconds) unless pairs

            TopicPartitionList.make(pairs) do |list|
              list_group_offsets(client, queue, group, list.pointer, seconds)
            end
          end

          # Returns the error code of the answer, 0 if this user may read the group.
          def group_offsets_error(event)
            return event.code unless event.code.zero?

            group, = list(:ListConsumerGroupOffsets_result_groups, event)
            error = group && Bindings.group_result_error(group)
            error.nil? || error.null? ? 0 : Bindings.error_code(error)
          end

          def group_offsets_in(event)
            group, = list(:ListConsumerGroupOffsets_result_groups, event)
            group ? TopicPartitionList.new(Bindings.group_result_partitions(group)).to_a : []
          end

          def describe_group(client, queue, group, seconds)
            name = FFI::MemoryPointer.from_string(group)
            send_one(:DescribeConsumerGroups, client, queue, name, seconds)
          end

          def group_description_in(event)
            return [event.code, nil] unless event.code.zero?

            group, = list(:DescribeConsumerGroups_result_groups, event)
            error = Bindings.ConsumerGroupDescription_error(group)
            return [Bindings.error_code(error), nil] unless error.null?

            [0, GroupDescription.new(group)]
          end

          # Sends one request to each broker that leads one of the partitions. committed: the end
          # is where the first open transaction begins.
          def end_offsets(client, queue, pairs, seconds, committed: false)
            TopicPartitionList.make(pairs.map { |pair| [*pair, LATEST] }) do |list|
              with_timeout(client, seconds) do |options|
                Bindings.AdminOptions_set_isolation_level(options, COMMITTED) if committed
                Bindings.ListOffsets(client.handle, list.pointer, options, queue.pointer)
              end
            end
          end

          def end_offsets_in(event)
            list(:ListOffsets_result_infos, event).map do |info|
              TopicPartitionList.entry(Bindings.ListOffsetsResultInfo_topic_partition(info))
            end
          end

          def create_topic(client, queue, name, partitions, copies, seconds)
            topic, text = Bindings.with_error_buffer do |*room|
              Bindings.NewTopic_new(name, partitions, copies, *room)
            end
            raise LibrdkafkaError.new(call: "the topic #{name}", text:) if topic.null?

            send_one(:CreateTopics, client, queue, topic, seconds)
            Bindings.NewTopic_destroy(topic)
          end

          def created_in(event) = topic_result(:CreateTopics_result_topics, event)

          def delete_topic(client, queue, name, seconds)
            topic = Bindings.DeleteTopic_new(name)
            send_one(:DeleteTopics, client, queue, topic, seconds)
            Bindings.DeleteTopic_destroy(topic)
          end

          def deleted_in(event) = topic_result(:DeleteTopics_result_topics, event)

          # places: [topic, number, offset]; the records before the offset are deleted.
          def delete_records(client, queue, places, seconds)
            request = TopicPartitionList.make(places) do |list|
              Bindings.DeleteRecords_new(list.pointer)
            end
            send_one(:DeleteRecords, client, queue, request, seconds)
            Bindings.DeleteRecords_destroy(request)
          end

          # Returns the first error code, of the request or of a partition.
          def records_deleted_in(event)
            return event.code unless event.code.zero?

            list = TopicPartitionList.new(Bindings.DeleteRecords_result_offsets(event.pointer))
            list.to_a.map(&:last).find(&:nonzero?) || 0
          end

          def describe_topics(client, queue, names, seconds)
            texts = names.map { |name| FFI::MemoryPointer.from_string(name) }
            array = FFI::MemoryPointer.new(:pointer, texts.size).write_array_of_pointer(texts)
            names = Bindings.TopicCollection_of_topic_names(array, texts.size)
            with_timeout(client, seconds) do |options|
              Bindings.DescribeTopics(client.handle, names, options, queue.pointer)
            end
            Bindings.TopicCollection_destroy(names)
          end

          # Returns the topic ids of those topics that exist.
          def topic_ids_in(event)
            topics = list(:DescribeTopics_result_topics, event).select do |topic|
              Bindings.error_code(Bindings.TopicDescription_error(topic)).zero?
            end
            topics.to_h do |topic|
              id = Bindings.TopicDescription_topic_id(topic)
              [Bindings.TopicDescription_name(topic), Bindings.Uuid_base64str(id)]
            end
          end

          private

          def list_group_offsets(client, queue, group, partitions, seconds)
            request = Bindings.ListConsumerGroupOffsets_new(group, partitions)
            send_one(:ListConsumerGroupOffsets, client, queue, request, seconds)
            Bindings.ListConsumerGroupOffsets_destroy(request)
          end

          # Calls a function that takes an array, here of one element.
          def send_one(function, client, queue, pointer, seconds)
            array = FFI::MemoryPointer.new(:pointer).write_pointer(pointer)
            with_timeout(client, seconds) do |options|
              Bindings.public_send(function, client.handle, array, 1, options, queue.pointer)
            end
          end

          def with_timeout(client, seconds)
            options = Bindings.AdminOptions_new(client.handle, ANY)
            milliseconds = (seconds * 1000).ceil
            Bindings.with_error_buffer do |*room|
              Bindings.AdminOptions_set_request_timeout(options, milliseconds, *room)
            end
            yield options
          ensure
            Bindings.AdminOptions_destroy(options)
          end

          # The error code and text for the topic of the request.
          def topic_result(function, event)
            topic, = list(function, event)
            return [event.code, event.text] unless topic

            [Bindings.topic_result_error(topic), Bindings.topic_result_error_string(topic)]
          end

          def list(function, event)
            count = FFI::MemoryPointer.new(:size_t)
            array = Bindings.public_send(function, event.pointer, count)
            array.null? ? [] : array.read_array_of_pointer(count.read_uint64)
          end
        end
      end
    end
  end
end
