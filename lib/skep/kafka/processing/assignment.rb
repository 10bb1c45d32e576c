# frozen_string_literal: true

# The partitions assigned to this node, and revoked ones of which work is still in flight. Not
# thread-safe: the scheduler calls it under its lock.
#
#   assignment = Assignment.new
#   assignment.add(partition)
#   assignment.assigned                        # => [partition], without revoked ones
#   assignment.previous_in_flight?(partition)  # true: an earlier assignment of it is in flight
#   assignment.released(partition)             # => [partition], later assignments of it
module Skep
  module Kafka
    module Processing
      class Assignment
        def initialize
          @by_id = {}
          @by_key = {} # a partition and its earlier assignments, oldest first
        end

        def add(partition) #: (AssignedPartition) -> void
          @by_id[partition.id] = partition
          (@by_key[partition.key] ||= []) << partition
        end

        def [](id) = @by_id[id] #: (Integer) -> AssignedPartition?
        def size = @by_id.size #: () -> Integer
        def assigned = @by_id.values.reject(&:revoked) #: () -> Array[AssignedPartition]

        # Returns true if a worker holds messages of another assignment of the same partition.
        def previous_in_flight?(partition) #: (AssignedPartition) -> bool
          @by_key[partition.key].any? { |other| other.in_flight? && !other.equal?(partition) }
        end

        # Forgets a revoked partition of which nothing is in flight. Returns the other assignments
        # of the same partition.
        def released(partition) #: (AssignedPartition) -> Array[AssignedPartition]
          @by_id.delete(partition.id)
          others = @by_key[partition.key]
          others.delete(partition)
          @by_key.delete(partition.key) if others.empty?
          others
        end

        # Closes and forgets all partitions.
        def clear #: () -> void
          @by_id.each_value(&:close).clear
          @by_key.clear
        end

        def inspect = "#<Skep::Kafka::Processing::Assignment partitions=#{size}>" #: () -> String
      end
    end
  end
end
