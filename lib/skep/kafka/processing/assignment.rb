# frozen_string_literal: true

# The partitions that this node has, and those it has no more but of which something is still in
# hand. For whoever has the scheduler's lock.
#
#   assignment = Assignment.new(queue, wakeup_pipe, lock)
#   assignment.add(partition)
#   assignment.held              # => [partition], those that are ours
#   assignment.behind?(partition)        # has its predecessor something in hand?
#   leaving = assignment.ask_back(keys)  # no more of these is given out, batches end early
#   assignment.take_back(leaving)        # what of them is still in progress is lost
#   assignment.freed(partition)          # of one taken back: is that all of it?
#
# A partition that was taken back is forgotten, and its queue given back, when nothing of it is in
# hand any more; one that came again meanwhile, which has waited for that, may be drawn from then.
module Skep
  module Kafka
    module Processing
      class Assignment
        # Rings when a partition that was asked back is no longer being processed.
        attr_reader :released #: Librdkafka::WakeupPipe

        def initialize(queue, wakeup_pipe) #: (RunQueue, Librdkafka::WakeupPipe) -> void
          @queue, @wakeup_pipe = queue, wakeup_pipe
          @released = Librdkafka::WakeupPipe.new
          @all = {} # by their ids
          @of = {}  # by their keys: one, and predecessors of it
        end

        def add(partition) #: (AssignedPartition) -> void
          @all[partition.id] = partition
          (@of[partition.key] ||= []) << partition
        end

        def [](id) = @all[id] #: (Integer) -> AssignedPartition?
        def size = @all.size #: () -> Integer
        def held = @all.values.reject(&:revoked) #: () -> Array[AssignedPartition]

        def behind?(partition) #: (AssignedPartition) -> bool
          @of[partition.key].any? { |one| one.busy? && !one.equal?(partition) }
        end

        # Asks for these partitions back: none of their messages is given out any more, and
        # Batch#each ends after the current message. They stay ours until take_back.
        #: (Array[[String, Integer]]) -> Array[AssignedPartition]
        def ask_back(keys)
          found = held.select { |partition| keys.include?(partition.key) }
          found.each { |partition| partition.revoked = :asked }
          found.each { |partition| freed(partition) }
        end

        # What is still being processed is lost from here on. Returns [topic, number, offset] of
        # what was done, where no transaction is in doubt.
        #: (Array[AssignedPartition]) -> Array[[String, Integer, Integer]]
        def take_back(partitions)
          partitions.each { |partition| partition.revoked = :lost }
          progress(partitions)
        end

        # (Whoever commits the position of one in doubt may take the group back.)
        #: (?Array[AssignedPartition]) -> Array[[String, Integer, Integer]]
        def progress(some = held) = some.reject(&:in_doubt?).filter_map(&:progress)

        def freed(partition) #: (AssignedPartition) -> void
          return if partition.busy?

          forget(partition)
          @queue.drop(partition)
          partition.close
          @of[partition.key]&.each { |successor| @queue.wake(successor) }
          @wakeup_pipe.wake
          @released.wake
        end

        # Gives everything back.
        def clear #: () -> void
          @all.each_value(&:close).clear
          @of.clear
          @released.close unless @released.io.closed?
        end

        def inspect = "#<Skep::Kafka::Processing::Assignment partitions=#{size}>" #: () -> String

        private

        def forget(partition)
          @all.delete(partition.id)
          some = @of[partition.key]
          some.delete(partition)
          @of.delete(partition.key) if some.empty?
        end
      end
    end
  end
end
