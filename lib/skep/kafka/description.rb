# frozen_string_literal: true

# What the cluster says of a consumer group: its state and its members. Read at once from an answer
# that is about to go.
#
#   description.state      # => "Stable"
#   description.members    # => [Description::Member, …]: id, instance, client, host, partitions
module Skep
  module Kafka
    class Description
      Member = Struct.new(:id, :instance, :client, :host, :partitions)

      # Of a group that nothing is said of.
      NONE = Struct.new(:state, :assignor, :members) { def dead? = true }.new("Unknown", nil, [])

      attr_reader :state #: String
      attr_reader :assignor #: String?
      attr_reader :members #: Array[Member]

      def initialize(pointer) #: (FFI::Pointer) -> void
        @state = Native.consumer_group_state_name(Native.ConsumerGroupDescription_state(pointer))
        @assignor = text(Native.ConsumerGroupDescription_partition_assignor(pointer))
        @members = Array.new(Native.ConsumerGroupDescription_member_count(pointer)) do |index|
          member(Native.ConsumerGroupDescription_member(pointer, index))
        end
      end

      # Does nobody know it? (A group that has members, or has committed anything, is there.)
      def dead? = state == "Dead" #: () -> bool

      def inspect = "#<Skep::Kafka::Description #{state} members=#{members.size}>" #: () -> String

      private

      def member(pointer)
        held = Native.MemberAssignment_partitions(Native.MemberDescription_assignment(pointer))
        Member.new(text(Native.MemberDescription_consumer_id(pointer)),
                   text(Native.MemberDescription_group_instance_id(pointer)),
                   text(Native.MemberDescription_client_id(pointer)),
                   text(Native.MemberDescription_host(pointer))&.delete_prefix("/"),
                   PartitionList.new(held).keys)
      end

      def text(string) = string.to_s.empty? ? nil : string.dup.force_encoding("UTF-8").scrub
    end
    private_constant :Description
  end
end
