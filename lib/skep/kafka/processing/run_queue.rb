# frozen_string_literal: true

# What is to be worked on, in the order in which it became ready: partitions to be drawn from, and
# work items to be gone on with. What is to be left alone for a while rests before that.
#
#   queue = RunQueue.new(wakeup_pipe)
#   queue.ready(partition)
#   queue.rest(item)           # until item.retry_at; the one who listens is told
#   queue.succeeded(partition, began)  # readies what awaits a success of the partition
#   queue.probe(partition, time) # readies one of what awaits a success at that time
#   queue.wake(partition)        # once more, if there may be something to draw
#   queue.pop                    # => partition or item; waits for one, nil once closed
#   queue.over(OS.now)           # readies what has rested enough
#   queue.deadline               # when that is, in monotonic seconds
#
# `pop` and `empty?` are for any thread, the rest for whoever has the scheduler's lock: what was
# popped may have been taken back, or sought elsewhere, before the lock is had.
module Skep
  module Kafka
    module Processing
      class RunQueue
        def initialize(wakeup_pipe) #: (Librdkafka::WakeupPipe) -> void
          @wakeup_pipe = wakeup_pipe
          @resting = BackoffQueue.new
          @ready = Thread::Queue.new
        end

        def pop = @ready.pop #: () -> (AssignedPartition | WorkItem)?
        def empty? = @ready.empty? #: () -> bool

        def ready(one) #: (AssignedPartition | WorkItem) -> void
          one.state = :ready
          one.retry_at = nil
          @ready << one unless @ready.closed?
        end

        # awaiting: see BackoffQueue#add.
        #: (AssignedPartition | WorkItem, ?awaiting: Float?) -> void
        def rest(one, awaiting: nil)
          one.state = :resting
          @resting.add(one, awaiting)
          @wakeup_pipe.wake
        end

        # began: when what succeeded was begun.
        #: (AssignedPartition, Float) -> void
        def succeeded(partition, began)
          @resting.end_with(partition, began).each { |one| ready(one) }
        end

        # Is there a work item that awaits a success? The first of them rests until that time at
        # most.
        def probe(partition, time) #: (AssignedPartition, Float) -> bool
          @resting.probe(partition, time).tap { |found| @wakeup_pipe.wake if found }
        end

        def wake(partition) #: (AssignedPartition) -> void
          return if partition.revoked || !%i[idle resting].include?(partition.state)
          return unless partition.more?

          @resting.delete(partition)
          ready(partition)
        end

        # Neither it nor a work item of it rests any more, where the block is true of it if there is
        # one; what is ready stays so.
        #: (AssignedPartition) ?{ (AssignedPartition | WorkItem) -> bool } -> void
        def drop(partition, &) = @resting.drop(partition, &)

        def over(now) = @resting.over(now).each { |one| ready(one) } #: (Float) -> void
        def deadline = @resting.deadline #: () -> Float?

        # Gives out no more, and takes nothing.
        def close #: () -> void
          @ready.close
          @ready.clear
        end

        def inspect = "#<Skep::Kafka::Processing::RunQueue ready=#{@ready.size}>" #: () -> String
      end
    end
  end
end
