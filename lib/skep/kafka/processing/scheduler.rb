# frozen_string_literal: true

# Where the partitions lie that this node has (Assignment): ready to be drawn from or resting after
# a failure (RunQueue), or in hand (Dispatcher). Shared by the event loop, who adds and revokes, the
# one who listens, and the workers, who take and free.
#
#   item = scheduler.take               # messages to work on; nil when the scheduler has closed
#   scheduler.settle(item) { … }        # its batch is done
#   scheduler.succeeded(partition, began) # ends the rest of work items that await that
#   scheduler.free(item)                # you are through with it, or it is to rest
#   scheduler.listen                      # readies what librdkafka rang for, and what has rested enough
#   leaving = scheduler.ask_back(keys)    # no more of these is given out, batches end early
#   scheduler.processing(leaving)         # those of them that workers still process
#   scheduler.take_back(leaving)          # what of them is still in progress is lost
#
# What must be done in order is never with two at once, even when its partition goes and comes back
# while it is in hand.
module Skep
  module Kafka
    module Processing
      class Scheduler
        attr_reader :wakeup_pipe #: Librdkafka::WakeupPipe

        # The block is told what a partition couldn't read: the partition, an error code and its
        # text.
        #: (?Librdkafka::WakeupPipe) ?{ (AssignedPartition, Integer, String) -> void } -> void
        def initialize(wakeup_pipe = Librdkafka::WakeupPipe.new, &problem)
          @wakeup_pipe = wakeup_pipe
          @lock = Mutex.new
          @queue = RunQueue.new(wakeup_pipe)
          @assignment = Assignment.new(@queue, wakeup_pipe)
          @dispatcher = Dispatcher.new(@queue, @assignment, @lock, &problem)
        end

        def add(partition) #: (AssignedPartition) -> void
          @lock.synchronize do
            @assignment.add(partition)
            @queue.ready(partition)
            wakeup_pipe.wake
          end
        end

        # Waits for a work item if told to; nil when there is none, or the scheduler has closed. The
        # block is asked for the keys of what is read.
        #: (?wait: bool) ?{ (Batch) -> Array[untyped] } -> WorkItem?
        def take(wait: true, &keys) = @dispatcher.take(wait:, &keys)

        # After a take. A work item with retry_at rests until then.
        def free(item) #: (WorkItem) -> void
          @lock.synchronize do
            partition = item.partition
            partition.in_hand -= 1
            next @assignment.freed(partition) if partition.revoked

            put_down(item)
            @queue.probe(partition, OS.now + Failure::RetryBackoff::OUTAGE_LIMIT)
            @queue.wake(partition)
          end
        end

        # A handler has done some of the partition; began: when that was begun, in monotonic
        # seconds.
        def succeeded(partition, began) #: (AssignedPartition, Float) -> void
          @lock.synchronize do
            partition.succeeded(began)
            @queue.succeeded(partition, began)
          end
        end

        # One work item of the partition that awaits a success is tried within
        # RetryBackoff::OUTAGE_LIMIT; false where
        # none rests.
        def probe(partition) #: (AssignedPartition) -> bool
          @lock.synchronize { @queue.probe(partition, OS.now + Failure::RetryBackoff::OUTAGE_LIMIT) }
        end

        # The work item's batch is done; the block notes the offset elsewhere, if it is another,
        # unless the partition has been lost. Is it still ours?
        #
        #: (WorkItem) { (Integer) -> void } -> bool
        def settle(item, &)
          @lock.synchronize do
            note(item, item.last_offset, &).tap { item.pass }
          end
        end

        # The same of its messages up to that offset.
        #: (WorkItem, Integer) { (Integer) -> void } -> bool
        def mark(item, offset, &)
          @lock.synchronize do
            next item.partition.revoked != :lost if item.marked && offset <= item.marked

            note(item, offset, &).tap { item.marked = offset }
          end
        end

        # Its partition goes on there, once no worker processes anything of it and what is
        # unfinished before that work item is done. last: the last offset of the work item's batch.
        # Returns the lowest offset that the seek waits for, if there is one.
        #: (WorkItem, Integer | Symbol | Time, ?Integer?) -> Integer?
        def seek(item, place, last = item.batch&.last_offset)
          @lock.synchronize do
            partition = item.partition
            partition.seek(place, item, last)
            item.drop
            @queue.drop(partition) { |one| one.equal?(partition) || !partition.waits_for?(one) }
            partition.waits_for
          end
        end

        # Readies what has messages, and what has rested long enough.
        def listen(now = OS.now) #: (?Float) -> void
          rung = wakeup_pipe.drain
          @lock.synchronize do
            rung.each { |id| heard(@assignment[id]) }
            @queue.over(now)
          end
        end

        # When the next one has rested enough, in monotonic seconds.
        def next_deadline = @lock.synchronize { @queue.deadline } #: () -> Float?

        # See Assignment#ask_back.
        #: (Array[[String, Integer]]) -> Array[AssignedPartition]
        def ask_back(keys) = @lock.synchronize { @assignment.ask_back(keys) }

        # Those of which a worker still processes a batch.
        #: (Array[AssignedPartition]) -> Array[AssignedPartition]
        def processing(partitions) = @lock.synchronize { partitions.select(&:busy?) }

        # Rings when `processing` may have changed.
        def released = @assignment.released #: () -> Librdkafka::WakeupPipe

        # See Assignment#take_back.
        #: (Array[AssignedPartition]) -> Array[[String, Integer, Integer]]
        def take_back(partitions) = @lock.synchronize { @assignment.take_back(partitions) }

        # Takes partitions back at once. Returns [topic, number, offset] of what was done.
        #: (Array[[String, Integer]]) -> Array[[String, Integer, Integer]]
        def revoke(keys)
          @lock.synchronize { @assignment.take_back(@assignment.ask_back(keys)) }
        end

        # [topic, number, offset] of what was done so far.
        #: () -> Array[[String, Integer, Integer]]
        def done = @lock.synchronize { @assignment.held.filter_map(&:progress) }

        # The same to commit: without those of which a transaction is in doubt.
        #: () -> Array[[String, Integer, Integer]]
        def certain = @lock.synchronize { @assignment.progress }

        # The partitions it has, as [topic, number].
        def keys
          @lock.synchronize { @assignment.held.map(&:key) }
        end #: () -> Array[[String, Integer]]

        # Through which their messages come.
        def readers
          @lock.synchronize { @assignment.held.map(&:reader) }
        end #: () -> Array[PartitionReader]

        # Gives out no more.
        def close = @lock.synchronize { @queue.close } #: () -> void

        # Gives everything back; after `close`, when the workers are gone.
        def clear #: () -> void
          @assignment.clear
          wakeup_pipe.close
        end

        def inspect
          "#<Skep::Kafka::Processing::Scheduler partitions=#{@assignment.size}>"
        end #: () -> String

        private

        def note(item, offset)
          partition = item.partition
          before = partition.position
          partition.done(item, offset)
          return false if partition.revoked == :lost

          yield partition.position unless partition.position == before
          true
        end

        # Strands of it rest, wait for a worker, or are through.
        def put_down(item)
          partition = item.partition
          item.parts.each do |part|
            next if partition.seeking? && !part.over? && !partition.waits_for?(part)

            if part.retry_at && !succeeded?(part) then @queue.rest(part, awaiting: part.awaiting)
            elsif part.over? then part.partition.release(part)
            else @queue.ready(part)
            end
          end
        end

        # Has what it awaits happened before it came to rest?
        def succeeded?(part)
          success = part.partition.last_success if part.awaiting
          success ? success > part.awaiting : false
        end

        # librdkafka rang for it, unless it is gone.
        def heard(partition)
          return unless partition

          partition.rung = true
          @queue.wake(partition) if partition.state == :idle || partition.gathering?
        end
      end
    end
  end
end
