# frozen_string_literal: true

# What the cluster says of a consumer group: its state and its members. Read at once from an answer
# that is about to go.
#
#   description.state      # => "Stable"
#   description.members    # => [Member, …]: id, instance, client, host, partitions
module Skep
  module Kafka
    module Admin
      class GroupDescription
        Member = Struct.new(:id, :instance, :client, :host, :partitions)

        # Of a group that nothing is said of.
        NONE = Struct.new(:state, :assignor, :members) { def dead? = true }.new("Unknown", nil, [])

        attr_reader :state #: String
        attr_reader :assignor #: String?
        attr_reader :members #: Array[Member]

        def initialize(pointer) #: (FFI::Pointer) -> void
          @state = Librdkafka::Bindings.consumer_group_state_name(Librdkafka::Bindings.ConsumerGroupDescription_state(pointer))
          @assignor = text(Librdkafka::Bindings.ConsumerGroupDescription_partition_assignor(pointer))
          @members = Array.new(Librdkafka::Bindings.ConsumerGroupDescription_member_count(pointer)) do |index|
            member(Librdkafka::Bindings.ConsumerGroupDescription_member(pointer, index))
          end
        end

        # Does nobody know it? (A group that has members, or has committed anything, is there.)
        def dead? = state == "Dead" #: () -> bool

        def inspect
          "#<Skep::Kafka::Admin::GroupDescription #{state} members=#{members.size}>"
        end #: () -> String

        private

        def member(pointer)
          held = Librdkafka::Bindings.MemberAssignment_partitions(Librdkafka::Bindings.MemberDescription_assignment(pointer))
          Member.new(text(Librdkafka::Bindings.MemberDescription_consumer_id(pointer)),
                     text(Librdkafka::Bindings.MemberDescription_group_instance_id(pointer)),
                     text(Librdkafka::Bindings.MemberDescription_client_id(pointer)),
                     text(Librdkafka::Bindings.MemberDescription_host(pointer))&.delete_prefix("/"),
                     Librdkafka::TopicPartitionList.new(held).keys)
        end

        def text(string) = string.to_s.empty? ? nil : string.dup.force_encoding("UTF-8").scrub
      end
    end
  end
end
