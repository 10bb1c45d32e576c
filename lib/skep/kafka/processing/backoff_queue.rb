# frozen_string_literal: true

# Partitions and work items that are to be left alone for a while. Pure: what to do with them when
# that is over is the scheduler's business.
#
#   resting.add(item)          # until item.retry_at
#   resting.deadline             # => 17.2, when the first is over; nil where none ever is
#   resting.over(OS.now)         # => [item], which rest no more
#   resting.drop(partition)      # it and all of its items
#
# Strands may await a success of their partition:
#
#   resting.add(item, 17.0)    # a success begun after that ends its rest
#   resting.probe(partition, 19.5)     # one of those is tried by then; false where there is none
#   resting.end_with(partition, 19.6)  # => [item], which a success ends that was begun then
module Skep
  module Kafka
    module Processing
      class BackoffQueue
        def initialize
          @all = {}.compare_by_identity
          @awaiting = {}.compare_by_identity # by partition
        end

        # awaiting: the time after which a success must be begun to end the rest early.
        #: (AssignedPartition | WorkItem, ?Float?) -> void
        def add(one, awaiting = nil)
          @all[one] = one.retry_at
          (@awaiting[one.partition] ||= {}.compare_by_identity)[one] = awaiting if awaiting
        end

        def delete(one) #: (AssignedPartition | WorkItem) -> void
          @all.delete(one)
          return if @awaiting.empty?

          items = @awaiting[one.partition] or return
          items.delete(one)
          @awaiting.delete(one.partition) if items.empty?
        end

        #: (AssignedPartition) ?{ (AssignedPartition | WorkItem) -> bool } -> void
        def drop(partition)
          @all.keys.each do |one|
            delete(one) if one.partition.equal?(partition) && (!block_given? || yield(one))
          end
        end

        # The first work item of the partition that awaits a success rests until that time at most.
        # Is there one?
        def probe(partition, time) #: (AssignedPartition, Float) -> bool
          items = @awaiting[partition] or return false
          first = items.each_key.min_by(&:retry_at)
          @all[first] = first.retry_at = time if first.retry_at > time
          true
        end

        # began: when the success was begun.
        #: (AssignedPartition, Float) -> Array[WorkItem]
        def end_with(partition, began)
          items = @awaiting[partition] or return []
          through = items.filter_map { |one, awaiting| one if awaiting < began }
          through.each { |one| delete(one) }
        end

        def deadline = @all.each_value.reject(&:infinite?).min #: () -> Float?

        # (Hash#select of one that goes by identity leaks in Ruby 3.1.)
        def over(now) #: (Float) -> Array[AssignedPartition | WorkItem]
          through = @all.filter_map { |one, time| one if time <= now }
          through.each { |one| delete(one) }
        end

        def inspect = "#<Skep::Kafka::Processing::BackoffQueue #{@all.size}>" #: () -> String
      end
    end
  end
end
