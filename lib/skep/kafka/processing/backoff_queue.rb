# frozen_string_literal: true

# Partitions and work items in backoff, each until its retry_at. Work items may also wait
# for a success of their partition. Not thread-safe.
module Skep
  module Kafka
    module Processing
      class BackoffQueue
        def initialize
          @retry_at = {}.compare_by_identity # by partition or work item
          @awaiting = {}.compare_by_identity # by partition: { work item => time }
        end

        # awaiting: a success that began after that time ends the backoff early.
        #: (AssignedPartition | WorkItem, ?Float?) -> void
        def add(entry, awaiting = nil)
          @retry_at[entry] = entry.retry_at
          (@awaiting[entry.partition] ||= {}.compare_by_identity)[entry] = awaiting if awaiting
        end

        def delete(entry) #: (AssignedPartition | WorkItem) -> void
          @retry_at.delete(entry)
          return if @awaiting.empty?

          items = @awaiting[entry.partition] or return
          items.delete(entry)
          @awaiting.delete(entry.partition) if items.empty?
        end

        # Removes the partition and its work items, or those for which the block is true.
        #: (AssignedPartition) ?{ (AssignedPartition | WorkItem) -> bool } -> void
        def drop(partition)
          @retry_at.keys.each do |entry|
            same = entry.partition.equal?(partition)
            delete(entry) if same && (!block_given? || yield(entry))
          end
        end

        # Ends the backoff of the first work item that waits for a success of the partition by
        # that time. Returns false if there is none.
        def probe(partition, time) #: (AssignedPartition, Float) -> bool
          items = @awaiting[partition] or return false
          first = items.each_key.min_by(&:retry_at)
          @retry_at[first] = first.retry_at = time if first.retry_at > time
          true
        end

        # Removes and returns what a success ends that began then.
        #: (AssignedPartition, Float) -> Array[WorkItem]
        def succeeded(partition, began)
          items = @awaiting[partition] or return []
          over = items.filter_map { |item, awaiting| item if awaiting < began }
          over.each { |item| delete(item) }
        end

        # When the first backoff ends, in monotonic seconds; nil if none does.
        def deadline = @retry_at.each_value.reject(&:infinite?).min #: () -> Float?

        # Removes and returns what is over. (Hash#select by identity leaks memory in Ruby 3.1.)
        def due(now) #: (Float) -> Array[AssignedPartition | WorkItem]
          over = @retry_at.filter_map { |entry, time| entry if time <= now }
          over.each { |entry| delete(entry) }
        end

        def inspect = "#<#{self.class} size=#{@retry_at.size}>" #: () -> String
      end
    end
  end
end
