# frozen_string_literal: true

# The partitions that this node has, and those it has no more but of which something is still in
# hand. For whoever has the desk's lock.
#
#   assignment = Assignment.new(queue, bell, lock)
#   assignment.add(partition)
#   assignment.held              # => [partition], those that are ours
#   assignment.behind?(partition)        # has its predecessor something in hand?
#   assignment.revoke(keys, 5.0)         # takes partitions back, waiting for batches in hand
#   assignment.freed(partition)          # of one taken back: is that all of it?
#   assignment.leftover(keys)            # of these the ones of which something is in hand
#
# A partition that was taken back is forgotten, and its queue given back, when nothing of it is in
# hand any more; one that came again meanwhile, which has waited for that, may be drawn from then.
module Skep
  module Kafka
    class Assignment
      #: (RunQueue, Bell, Mutex) -> void
      def initialize(queue, bell, lock)
        @queue, @bell, @lock = queue, bell, lock
        @freed = ConditionVariable.new
        @all = {} # by their ids
        @of = {}  # by their keys: one, and predecessors of it
      end

      def add(partition) #: (Partition) -> void
        @all[partition.id] = partition
        (@of[partition.key] ||= []) << partition
      end

      def [](id) = @all[id] #: (Integer) -> Partition?
      def size = @all.size #: () -> Integer
      def held = @all.values.reject(&:revoked) #: () -> Array[Partition]

      def behind?(partition) #: (Partition) -> bool
        @of[partition.key].any? { |one| one.busy? && !one.equal?(partition) }
      end

      # [topic, number] of those.
      #: (Array[[String, Integer]]) -> Array[[String, Integer]]
      def leftover(keys) = @all.values.select(&:busy?).map(&:key) & keys

      # Waits so many seconds at most; what is in hand then is lost. Gives [topic, number, offset]
      # of what was done, where no transaction is in doubt.
      #
      #: (Array[[String, Integer]], Numeric) -> Array[[String, Integer, Integer]]
      def revoke(keys, seconds)
        found = held.select { |partition| keys.include?(partition.key) }
        found.each { |partition| partition.revoked = :asked }
        found.each { |partition| freed(partition) }
        wait_for(found, seconds)
        found.each { |partition| partition.revoked = :lost }
        progress(found)
      end

      # (Whoever commits the position of one in doubt may take the group back.)
      #: (?Array[Partition]) -> Array[[String, Integer, Integer]]
      def progress(some = held) = some.reject(&:in_doubt?).filter_map(&:progress)

      def freed(partition) #: (Partition) -> void
        return if partition.busy?

        forget(partition)
        @queue.drop(partition)
        partition.close
        @of[partition.key]&.each { |successor| @queue.wake(successor) }
        @bell.ring
        @freed.broadcast
      end

      # Gives everything back.
      def clear #: () -> void
        @all.each_value(&:close).clear
        @of.clear
      end

      def inspect = "#<Skep::Kafka::Assignment partitions=#{size}>" #: () -> String

      private

      def forget(partition)
        @all.delete(partition.id)
        some = @of[partition.key]
        some.delete(partition)
        @of.delete(partition.key) if some.empty?
      end

      def wait_for(found, seconds)
        deadline = OS.now + seconds
        while found.any?(&:busy?) && (left = deadline - OS.now).positive?
          @freed.wait(@lock, left)
        end
      end
    end
    private_constant :Assignment
  end
end
