# frozen_string_literal: true

# Schedules work for this node's assigned partitions. A partition is idle, ready, being read, or in
# backoff: after a failure, or for `max_wait`. Thread-safe: the event loop adds and revokes
# partitions, the main thread wakes them, workers take and release work items.
#
#   scheduler = Scheduler.new(offset_store: consumer, report:)
#   item = scheduler.next_item { |partition| … }   # waits for messages to process; nil once
#                                         # closed. The block returns keys of `ordered_by:`
#   scheduler.mark(item, 41)              # its messages up to that offset are done
#   scheduler.complete(item)              # its batch is done
#   scheduler.release(item)               # no worker holds it any more; it may be retried later
#   scheduler.succeeded(partition, began) # in an outage items back off until another one succeeds
#   scheduler.withhold                    # hands out nothing until hand_out: the node is quiet
#   scheduler.wake_ready                  # makes ready what has new messages or has waited enough
#   leaving = scheduler.begin_revocation(keys)   # hands out no more of these; Batch#each ends
#   scheduler.processing(leaving)         # those of them that workers still process
#   scheduler.finish_revocation(leaving)  # what is still in flight is lost from here on
#
# One lock guards all of this. Only `committable_offsets` calls a block under it. Partitions are
# read without it, each by one thread at a time. A partition that is assigned again while work of
# its earlier assignment is in flight is not read before that work is released: no key is in two
# workers.
module Skep
  module Kafka
    module Processing
      class Scheduler
        LABELLED = 2_000 # partitions of a node
        private_constant :LABELLED

        # The partitions assigned to this node, and revoked ones of which work is still in flight.
        class Assignment
          def initialize
            @by_id = {}
            @by_key = {} # a partition and its earlier assignments, oldest first
            @counts = Hash.new(0).compare_by_identity # of those assigned, by their options
          end

          def add(partition)
            @by_id[partition.id] = partition
            @counts[partition.options] += 1
            (@by_key[partition.key] ||= []) << partition
          end

          def [](id) = @by_id[id]
          def size = @by_id.size
          def assigned = @by_id.values.reject(&:revocation)
          def count(options) = @counts[options]

          # Returns the assigned partitions with these keys, whose revocation begins.
          def begin_revocation(keys)
            wanted = keys.to_h { |key| [key, true] }
            assigned.select { |partition| wanted.key?(partition.key) }.each do |partition|
              partition.begin_revocation
              @counts[partition.options] -= 1
            end
          end

          # Returns true if a worker holds messages of another assignment of the same partition.
          def previous_in_flight?(partition)
            @by_key[partition.key].any? { |other| other.in_flight? && !other.equal?(partition) }
          end

          # Forgets a revoked partition of which nothing is in flight. Returns the other assignments
          # of the same partition.
          def released(partition)
            @by_id.delete(partition.id)
            others = @by_key[partition.key]
            others.delete(partition)
            @by_key.delete(partition.key) if others.empty?
            others
          end

          # Closes and forgets all partitions.
          def clear
            @by_id.each_value(&:close).clear
            [@by_key, @counts].each(&:clear)
          end
        end

        attr_reader :offset_committer
        attr_reader :wakeup_pipe # rings when wake_ready has work to do
        attr_reader :released # rings when `processing` may have changed

        # offset_store: where offsets to commit are stored, a Consumer; nil if a transaction commits
        # them. report: where partitions that can't be read are reported. offset_committer: a
        # Consumer::OffsetCommitter. topic_queue: a TopicQueue, of a source with several topics.
        def initialize(offset_store: nil, report: nil, wakeup_pipe: Librdkafka::WakeupPipe.new,
                       topic_queue: nil, offset_committer: nil)
          @offset_store, @report, @wakeup_pipe = offset_store, report, wakeup_pipe
          @offset_committer = offset_committer
          @released = Librdkafka::WakeupPipe.new
          @lock = Mutex.new
          @assignment = Assignment.new
          @backoff = BackoffQueue.new
          @evidence = {}.compare_by_identity # by the options of a topic: OutageEvidence
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

        # Returns the next work item, or nil once the scheduler is closed; wait: false returns nil
        # if nothing is ready. The block returns the keys of a partition's `awaiting_keys`.
        def next_item(wait: true, &keys_of)
          while wait || !@ready.empty?
            entry = @ready.pop or return
            item = item_of(entry, &keys_of)
            return item if item
          end
        end

        # Call this once for each item of next_item, on the same thread. Its backoff begins.
        def release(item)
          @topic_queue&.end_turn
          @lock.synchronize do
            partition = item.partition
            parts = partition.release(item)
            failed = parts.select { |part| part.retry_at && partition.failed(part) }
            next forget_revoked(partition) if partition.revocation

            @offset_committer&.failed(partition) if failed.any?
            parts.each { |part| put_back(part) }
            probe_soon(partition)
            make_ready_if_needed(partition)
          end
        end

        # A handler has processed messages of the partition. began: when it began with them, in
        # monotonic seconds.
        def succeeded(partition, began)
          @lock.synchronize do
            partition.succeeded(began)
            evidence(partition).succeeded(partition, began)
            @backoff.succeeded(partition, began).each { |item| make_ready(item) }
          end
        end

        # A handler has failed with messages of the partition.
        def failed(partition)
          @lock.synchronize { evidence(partition).failed(partition, OS.now) }
        end

        # When the last success of the partition's handler in this process began, in whatever
        # partition; nil if there is none, or if it doesn't count (Failure::OutageEvidence).
        # offset: of the message that is tried.
        def success_elsewhere(partition, offset)
          @lock.synchronize do
            same = @assignment.count(partition.options)
            evidence(partition).success(partition, offset, same, OS.now)
          end
        end

        # Returns true if a work item of the partition waits for a success.
        def awaiting_success?(partition) = @lock.synchronize { @backoff.awaiting?(partition) }

        # Returns true if messages of the partition wait behind the item's.
        def behind?(item) = @lock.synchronize { item.more? || item.partition.more? }

        # The item's batch is done: stores the partition's new offset and continues with the item's
        # next batch. Returns :stored, or :partition_lost if the offset may not be committed any
        # more.
        def complete(item)
          @lock.synchronize { store(item, item.last_offset).tap { item.next_slice } }
        end

        # The same for the batch's messages up to that offset.
        def mark(item, offset)
          @lock.synchronize do
            if item.marked?(offset)
              next item.partition.revocation == :finished ? :partition_lost : :stored
            end

            store(item, offset).tap { item.mark(offset) }
          end
        end

        # The partition continues at that place once none of its messages is in flight and those
        # before the work item are done. last: the last offset of the work item's batch. Returns the
        # lowest offset for which the seek waits, or nil.
        def seek(item, place, last = item.slice&.last_offset)
          @lock.synchronize do
            partition = item.partition
            partition.seek(place, item, last)
            item.drop
            @backoff.drop(partition) { |one| one.equal?(partition) || !partition.keeps?(one) }
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
        # Batch#each ends after the current message. They remain assigned until finish_revocation.
        def begin_revocation(keys)
          @lock.synchronize do
            @assignment.begin_revocation(keys).each { |partition| forget_revoked(partition) }
          end
        end

        # Returns those of which a worker still processes a batch.
        def processing(partitions) = @lock.synchronize { partitions.select(&:in_flight?) }

        # What is in flight is lost from here on. Returns what to commit, as `committable_offsets`.
        def finish_revocation(partitions)
          @lock.synchronize do
            partitions.each(&:finish_revocation)
            committable(partitions)
          end
        end

        # How far the partition is done; nil before anything is.
        def position(partition) = @lock.synchronize { partition.position }

        # Returns true if unfinished messages of the partition prevent reading others.
        def blocked?(partition) = @lock.synchronize { partition.blocked? }

        # Returns topic and number of the partitions of which that is so.
        def blocked_keys
          @lock.synchronize { @assignment.assigned.select(&:blocked?).map(&:key) }
        end

        # Returns { [topic, number] => [offset, count] } of all partitions of which something is
        # done: the offset after that, and how many offsets behind it are done, too. (The entries of
        # `committable_offsets` have metadata, which takes long.)
        def positions
          @lock.synchronize do
            @assignment.assigned.to_h do |one|
              offset = one.done_to
              [one.key, offset && [offset, one.done_beyond]]
            end.compact
          end
        end

        # Returns what to commit of some or all partitions, as `commit_entry`: of those of which
        # something is done, and no transaction is in doubt. A block gets it under the lock.
        def committable_offsets(some = nil)
          @lock.synchronize do
            committable(some || @assignment.assigned).tap { |all| yield all if block_given? }
          end
        end

        def resume_entry(partition) = @lock.synchronize { partition.resume_entry }

        # librdkafka couldn't commit what was stored with metadata.
        def store_again
          @lock.synchronize do
            committable(@assignment.assigned).each { |entry| @offset_store&.store(*entry) }
          end
        end

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

        # Hands out nothing until `hand_out` is called: what is ready, or becomes ready, is kept.
        def withhold = @lock.synchronize { @withheld ||= [] }

        # Hands out what was withheld, and what becomes ready from here on.
        def hand_out
          @lock.synchronize do
            withheld, @withheld = @withheld, nil
            withheld&.each { |entry| enqueue(entry) }
          end
        end

        # Hands out nothing more; threads that wait in next_item return.
        def close
          @lock.synchronize { @ready.close.clear }
        end

        # Closes all partitions. Call it after `close`, when the workers have ended.
        def clear
          @assignment.clear
          [wakeup_pipe, @released, *offset_committer].each(&:close)
        end

        def inspect
          "#<Skep::Kafka::Processing::Scheduler partitions=#{@assignment.size}>"
        end

        private

        # Returns nil if there is nothing to process. Then, and if the user's code that returns keys
        # ends the thread, its turn is over.
        def item_of(entry, &keys_of)
          item = entry.is_a?(WorkItem) ? take(entry) : read(entry, &keys_of)
          item&.tap { @topic_queue&.took(item) }
        ensure
          @topic_queue&.end_turn unless item
        end

        # A work item from the ready queue. Between `pop` and the lock its partition may have been
        # revoked or have moved elsewhere.
        def take(item)
          @lock.synchronize { item if !withheld?(item) && item.partition.take(item) }
        end

        # Needs no lock while it reads: a partition that is being read is in no queue.
        def read(partition)
          return unless @lock.synchronize { begin_reading(partition) }

          begin
            partition.read.each { |code, text| @report&.unreadable(partition, code, text) }
            partition.assign_keys(yield(partition)) if partition.awaiting_keys
            @lock.synchronize { partition.next_item }
          ensure
            @lock.synchronize { end_reading(partition) }
          end
        end

        # A new assignment waits for the work of an earlier one.
        def begin_reading(partition)
          return false if partition.revocation || withheld?(partition)

          partition.begin_reading(former_in_flight: @assignment.previous_in_flight?(partition))
        end

        def end_reading(partition)
          waits = partition.end_reading
          return forget_revoked(partition) if partition.revocation

          waits ? back_off(partition) : make_ready_if_needed(partition)
        end

        # librdkafka commits stored offsets in one request, of 1 MiB at most: of so many partitions
        # it commits them without metadata.
        def store(item, offset)
          partition = item.partition
          before = partition.position
          partition.done(item, offset)
          return :partition_lost if partition.revocation == :finished

          position = partition.position
          if @offset_store && position != before
            @offset_store.store(*partition.store_entry(labelled: @assignment.size <= LABELLED))
          end
          @offset_committer&.done(partition) if @offset_store
          :stored
        end

        # Part of a released work item.
        def put_back(part)
          case part.partition.put_back(part)
          when :backoff then back_off(part, part.awaiting)
          when :ready then make_ready(part)
          end
        end

        def evidence(partition)
          @evidence[partition.options] ||= Failure::OutageEvidence.new
        end

        def make_ready(entry)
          entry.become_ready
          enqueue(entry)
        end

        def enqueue(entry)
          @ready << entry unless withheld?(entry) || @ready.closed?
        end

        # Keeps it for `hand_out` while nothing is handed out. Returns false otherwise.
        def withheld?(entry)
          return false unless @withheld

          @withheld << entry
          true
        end

        def make_ready_if_needed(partition)
          return unless partition.runnable?

          @backoff.delete(partition)
          make_ready(partition)
        end

        def back_off(entry, awaiting = nil)
          @backoff.add(entry, awaiting)
          wakeup_pipe.wake
        end

        # One of the partition's work items that wait for a success is tried soon.
        def probe_soon(partition)
          by = OS.now + Failure::RetryBackoff::OUTAGE_LIMIT
          @backoff.probe(partition, by).tap { |found| wakeup_pipe.wake if found }
        end

        # librdkafka has new messages of the partition, which may have been revoked meanwhile.
        def data_available(id)
          partition = @assignment[id] or return
          make_ready_if_needed(partition) if partition.data_available
        end

        # (A commit of the position of a partition in doubt could take the group's offset back.)
        def committable(partitions) = partitions.reject(&:in_doubt?).filter_map(&:commit_entry)

        # Closes a revoked partition once nothing of it is in flight. A new assignment of it, which
        # has waited for that, may be read then.
        def forget_revoked(partition)
          return if partition.in_flight?

          successors = @assignment.released(partition)
          evidence(partition).forget(partition)
          @backoff.drop(partition)
          partition.close
          successors.each { |successor| make_ready_if_needed(successor) }
          [wakeup_pipe, @released].each(&:wake)
        end
      end
    end
  end
end
