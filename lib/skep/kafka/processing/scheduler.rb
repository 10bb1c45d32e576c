# frozen_string_literal: true

# Schedules work for this node's assigned partitions. A partition is idle, ready, in backoff after a
# failure, or being read. Thread-safe: the event loop adds and revokes partitions, the main thread
# wakes them, workers take and release work items.
#
#   scheduler = Scheduler.new(offset_store: consumer, report:)
#   item = scheduler.next_item            # waits for messages to process; nil once closed
#   scheduler.submit_keys(item, keys)     # if item.needs_keys?: the keys of its messages
#   scheduler.mark(item, 41)              # its messages up to that offset are done
#   scheduler.complete(item)              # its batch is done
#   scheduler.release(item)               # no worker holds it any more; it may be retried later
#   scheduler.succeeded(partition, began) # in an outage items back off until another one succeeds
#   scheduler.wake_ready                  # makes ready what has new messages or has waited enough
#   leaving = scheduler.ask_back(keys)    # hands out no more of these; Batch#each ends early
#   scheduler.processing(leaving)         # those of them that workers still process
#   scheduler.take_back(leaving)          # what is still in flight is lost from here on
#
# One lock guards all of this, and no block is called under it. Partitions are read without it, each
# by one thread at a time. A partition that is assigned again while work of its earlier assignment
# is in flight is not read before that work is released, so messages that must be processed in order
# are never in two workers.
module Skep
  module Kafka
    module Processing
      class Scheduler
        attr_reader :wakeup_pipe # rings when wake_ready has work to do
        attr_reader :released # rings when `processing` may have changed
        attr_reader :uncommitted # rings when take_uncommitted has something; 1: since a failure

        # offset_store: where offsets to commit are stored, a Consumer; nil if a transaction or
        # take_uncommitted's caller commits them. by_key: librdkafka commits nothing by itself.
        # report: where partitions that can't be read are reported. topic_queue: a TopicQueue, of a
        # source with several topics.
        def initialize(offset_store: nil, report: nil, wakeup_pipe: Librdkafka::WakeupPipe.new,
                       topic_queue: nil, by_key: false)
          @offset_store, @report, @wakeup_pipe = offset_store, report, wakeup_pipe
          @by_key, @to_commit = by_key, {}.compare_by_identity
          @released, @uncommitted = Librdkafka::WakeupPipe.new, Librdkafka::WakeupPipe.new
          @lock = Mutex.new
          @assignment = Assignment.new
          @backoff = BackoffQueue.new
          @topic_queue = topic_queue
          @ready = topic_queue || Thread::Queue.new # partitions to read, work items to process
        end

        def add(partition)
          @lock.synchronize do
            @assignment.add(partition)
            make_ready(partition)
            wakeup_pipe.wake
          end
        end

        # Returns the next work item, or nil once the scheduler is closed. If item.needs_keys?,
        # pass its keys to submit_keys instead of processing it. wait: false returns nil if nothing
        # is ready.
        def next_item(wait: true)
          @topic_queue&.turn_over
          while wait || !@ready.empty?
            entry = @ready.pop or return
            item = entry.is_a?(WorkItem) ? take(entry) : read(entry)
            return item.tap { @topic_queue&.took(item) } if item

            @topic_queue&.turn_over
          end
        end

        # Returns a work item to process, or nil if none of these messages may be processed yet.
        def submit_keys(unsorted, keys)
          @lock.synchronize do
            partition = unsorted.partition
            partition.sort(keys)
            draw(partition)
          ensure
            end_reading(partition)
          end
        end

        # Call this once for each item of next_item, except after submit_keys. A work item with
        # retry_at is in backoff from here on.
        def release(item)
          @lock.synchronize do
            partition = item.partition
            next end_reading(partition) if item.needs_keys?

            partition.item_released
            next forget_revoked(partition) if partition.revoked

            item.parts.each { |part| put_back(part) }
            probe_soon(partition)
            make_ready_if_needed(partition)
          end
        end

        # A handler has processed messages of the partition. began: when it began with them, in
        # monotonic seconds.
        def succeeded(partition, began)
          @lock.synchronize do
            partition.succeeded(began)
            @backoff.succeeded(partition, began).each { |item| make_ready(item) }
          end
        end

        # Lets one of the partition's work items that wait for a success be tried within
        # RetryBackoff::OUTAGE_LIMIT. Returns false if none waits for one.
        def probe(partition) = @lock.synchronize { probe_soon(partition) }

        # The item's batch is done: stores the partition's new offset and continues with the item's
        # next batch. Returns :stored, or :partition_lost if the offset may not be committed any
        # more.
        def complete(item)
          @lock.synchronize { store(item, item.last_offset).tap { item.next_batch } }
        end

        # The same for the batch's messages up to that offset.
        def mark(item, offset)
          @lock.synchronize do
            if item.marked && offset <= item.marked
              next item.partition.revoked == :lost ? :partition_lost : :stored
            end

            store(item, offset).tap { item.marked = offset }
          end
        end

        # The partition continues at that place once none of its messages is in flight and those
        # before the work item are done. last: the last offset of the work item's batch. Returns the
        # lowest offset for which the seek waits, or nil.
        def seek(item, place, last = item.batch&.last_offset)
          @lock.synchronize do
            partition = item.partition
            partition.seek(place, item, last)
            item.drop
            @backoff.drop(partition) do |entry|
              entry.equal?(partition) || !partition.waits_for?(entry)
            end
            partition.waits_for
          end
        end

        # Makes ready the partitions with new messages and what has been in backoff long enough.
        def wake_ready(now = OS.now)
          ids = wakeup_pipe.drain
          @woken_at = now
          @lock.synchronize do
            ids.each { |id| data_available(id) }
            @backoff.due(now).each { |entry| make_ready(entry) }
          end
        end

        # Makes ready what is due, for workers on other threads, and waits for more. Raises the
        # error that `failure` returns, if any.
        def supply(node, failure:)
          wake_ready
          failure.call&.then { |error| raise error }
          wait(node)
        end

        # Waits until wake_ready has something to do.
        def wait(node)
          deadline = next_deadline
          @waiting = true
          node.wait_for([wakeup_pipe.io], deadline && [deadline - OS.now, 0].max)
        ensure
          @waiting = false
        end

        # When the first backoff ends, in monotonic seconds.
        def next_deadline = @lock.synchronize { @backoff.deadline }

        # Begins a revocation: none of these partitions' messages is handed out any more, and
        # Batch#each ends after the current message. They remain assigned until take_back.
        def ask_back(keys) = @lock.synchronize { begin_revocation(keys) }

        # Returns those of which a worker still processes a batch.
        def processing(partitions) = @lock.synchronize { partitions.select(&:in_flight?) }

        # Ends a revocation: what is still in flight is lost. Returns [topic, number, offset, epoch]
        # to commit, without partitions of which a transaction is in doubt.
        def take_back(partitions) = @lock.synchronize { end_revocation(partitions) }

        # Returns [topic, number, offset, epoch] of all partitions of which something is done.
        def done = @lock.synchronize { @assignment.assigned.filter_map(&:progress) }

        # The same to commit, of these partitions or all: without those of which a transaction is in
        # doubt.
        def certain(partitions = nil)
          @lock.synchronize { committable(partitions || @assignment.assigned) }
        end

        # Returns [topic, number, offset, epoch, metadata] of partitions of which something is done,
        # or has failed, that librdkafka doesn't commit by itself, since the last call.
        def take_uncommitted
          @lock.synchronize do
            partitions, @to_commit = @to_commit.keys, {}.compare_by_identity
            committable(partitions.reject(&:revoked))
          end
        end

        # A commit of these partitions' entries has failed.
        def commit_again(keys)
          @lock.synchronize do
            @assignment.assigned.each { |one| commit_soon(one) if keys.include?(one.key) }
          end
        end

        # Where the partition's next owner begins if nothing more is committed: as
        # AssignedPartition#restart.
        def restart(partition) = @lock.synchronize { partition.restart }

        # Returns [topic, number] of the assigned partitions.
        def keys = @lock.synchronize { @assignment.assigned.map(&:key) }

        # Returns the readers of the assigned partitions.
        def readers = @lock.synchronize { @assignment.assigned.map(&:reader) }

        # Returns [topic, number] of the partitions that wait for messages to be fetched, each with
        # its reader. Returns nil if the node's only thread has been in a handler for so many
        # seconds: what has been fetched meanwhile isn't known yet.
        def awaiting_messages(within:)
          return unless @waiting || (@woken_at && OS.now - @woken_at < within)

          @lock.synchronize do
            @assignment.assigned.select(&:awaits_messages?).to_h { |one| [one.key, one.reader] }
          end
        end

        # Hands out nothing more; threads that wait in next_item return.
        def close
          @lock.synchronize { @ready.close.clear }
        end

        # Closes all partitions. Call it after `close`, when the workers have ended.
        def clear
          @assignment.clear
          [wakeup_pipe, @released, @uncommitted].each(&:close)
        end

        def inspect
          "#<Skep::Kafka::Processing::Scheduler partitions=#{@assignment.size}>"
        end

        private

        # A work item from the ready queue. Between `pop` and the lock its partition may have been
        # revoked or have moved elsewhere.
        def take(item)
          @lock.synchronize do
            partition = item.partition
            next if partition.revoked || partition.stale?(item)
            next if partition.seeking? && !partition.waits_for?(item)

            partition.item_taken
            item
          end
        end

        # Needs no lock while it reads: a partition that is being read is in no queue.
        def read(partition)
          return unless @lock.synchronize { begin_reading(partition) }

          begin
            partition.read
            partition.errors.each { |code, text| @report&.unreadable(partition, code, text) }
            unsorted = partition.unsorted or @lock.synchronize { draw(partition) }
          ensure
            @lock.synchronize { end_reading(partition) } unless unsorted
          end
        end

        # A new assignment waits for the work of an earlier one.
        def begin_reading(partition)
          return false if partition.revoked
          return partition.begin_reading unless @assignment.previous_in_flight?(partition)

          partition.idle
          false
        end

        def draw(partition)
          return if partition.revoked

          partition.draw.tap { |item| partition.item_taken if item }
        end

        def end_reading(partition)
          partition.idle
          return forget_revoked(partition) if partition.revoked
          return make_ready_if_needed(partition) unless partition.wait?

          partition.back_off
          back_off(partition)
        end

        def store(item, offset)
          partition = item.partition
          before = partition.position
          partition.done(item, offset)
          return :partition_lost if partition.revoked == :lost

          position = partition.position
          unless position == before
            @offset_store&.store(*partition.key, position, *partition.epoch(position))
          end
          commit_soon(partition) if @by_key
          :stored
        end

        # Part of a released work item: it waits for its retry or for a worker, or it is done.
        def put_back(part)
          partition = part.partition
          return if partition.seeking? && !part.done? && !partition.waits_for?(part)

          note_failure(part) if part.retry_at
          if part.retry_at && !partition.succeeded_since?(part.awaiting)
            back_off(part, part.awaiting)
          elsif part.done? then partition.release(part)
          else make_ready(part)
          end
        end

        # The failures of a batch of one message are committed with the partition's offset.
        def note_failure(part)
          return unless part.partition.failed(part)

          commit_soon(part.partition, failed: true)
        end

        def commit_soon(partition, failed: false)
          @to_commit[partition] = true
          @uncommitted.wake(failed ? 1 : 0)
        end

        def make_ready(entry)
          entry.ready
          @ready << entry unless @ready.closed?
        end

        def make_ready_if_needed(partition)
          return if partition.revoked || !%i[idle backoff].include?(partition.state)
          return unless partition.more?

          @backoff.delete(partition)
          make_ready(partition)
        end

        def back_off(entry, awaiting = nil)
          @backoff.add(entry, awaiting)
          wakeup_pipe.wake
        end

        def probe_soon(partition)
          by = OS.now + Failure::RetryBackoff::OUTAGE_LIMIT
          @backoff.probe(partition, by).tap { |found| wakeup_pipe.wake if found }
        end

        # librdkafka has new messages of the partition, which may have been revoked meanwhile.
        def data_available(id)
          partition = @assignment[id] or return
          partition.data_available
          make_ready_if_needed(partition) if partition.state == :idle || partition.gathering?
        end

        def begin_revocation(keys)
          found = @assignment.assigned.select { |partition| keys.include?(partition.key) }
          found.each { |partition| partition.revoke(:asked) }
          found.each { |partition| forget_revoked(partition) }
        end

        def end_revocation(partitions)
          partitions.each { |partition| partition.revoke(:lost) }
          committable(partitions)
        end

        # (A commit of the position of a partition in doubt could take the group's offset back.)
        def committable(partitions) = partitions.reject(&:in_doubt?).filter_map(&:progress)

        # Closes a revoked partition once nothing of it is in flight. A new assignment of it, which
        # has waited for that, may be read then.
        def forget_revoked(partition)
          return if partition.in_flight?

          successors = @assignment.released(partition)
          @backoff.drop(partition)
          partition.close
          successors.each { |successor| make_ready_if_needed(successor) }
          [wakeup_pipe, @released].each(&:wake)
        end
      end
    end
  end
end
