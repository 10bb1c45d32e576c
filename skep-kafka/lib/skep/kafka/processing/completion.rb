# frozen_string_literal: true

# Completes a batch: waits for its output messages, stores its offset for the next commit,
# updates the counters, and clears any poison suspicion. Each worker has its own.
#
#   completion.begin_try(item)             # the handler is about to be called
#   completion.marker(item)                # what Batch#mark calls
#   completion.batch_done(item)            # the handler has returned
#   completion.batch_ended_early(item, 41) # up to there: the handler wasn't given the rest
#   completion.skip_to(item)               # it has no messages, only records to move past
#   completion.keep_rest(item)             # what the handler hasn't marked is tried again
#   completion.commit                      # commits all that is done; waits for the broker
#
# A commit has two steps. When a batch is done or marked, Scheduler#complete or #mark moves
# the partition's position. If it has moved, Consumer#store stores it in librdkafka. Then one
# of these commits it, in the first three rows without waiting for the answer:
#
# | when | by | thread |
# |---|---|---|
# | every `commit_interval`, unless by key | librdkafka: the stored offsets | its own |
# | every `commit_interval` by key; after a failure alone | OffsetCommitter | event loop |
# | when partitions are unassigned, unless by key | librdkafka: the stored offsets | its own |
# | partitions are revoked; before others are assigned | RebalanceListener | event loop |
# | a process begins where the killed one of its slot was | MemberProgress | event loop |
# | a topic was created again | RebalanceListener | event loop |
# | an outage ends; the node leaves before its kill | EventLoop | event loop |
# | the node stops; before, if the whole swarm stops | EventLoop, await_other_nodes | main |
# | a partition seeks | Consumer#commit_and_seek | the one that reads it |
# | around a suspect message; after a poison message | Completion#commit | worker |
# | the group may not know this node any more | PartitionOwnership | worker |
#
# In a transactional source a batch's offset isn't stored: TransactionalProducer#end_batch, on the
# worker's thread, commits it with the output. Completion#commit and RebalanceListener#commit do
# nothing. A commit at a revocation or at the stop only repeats offsets that transactions have
# committed. It leaves out a partition whose transaction has no answer yet
# (AssignedPartition#in_doubt?).
#
# With `offsets: :database` the offset that counts is in the handler's database transaction.
module Skep
  module Kafka
    module Processing
      class Completion
        # Marks messages of one work item as done.
        Marker = Struct.new(:completion, :item) do
          # Returns false if the partition is lost. Raises OutputFailed.
          def mark(offset) = completion.mark(item, offset)
        end

        COMMIT_SECONDS = 5.0
        LATE = "the partition was lost before these messages were done"
        UNDONE = "the partition was lost before these messages were processed"
        REVOKED = "Its new owner processes them"
        # Ruby 3.3 copies other hashes at each handle_interrupt.
        NEVER = {}.compare_by_identity.update(Object => :never).freeze
        private_constant :Marker, :COMMIT_SECONDS, :LATE, :UNDONE, :REVOKED, :NEVER

        # evidence, present: Failure::TopicEvidence and PresentFailures by the options of a topic.
        def initialize(node:, poison:, outputs:, report:, consumer:, scheduler:, metrics:,
                       evidence:, present:, database_offsets: nil)
          @evidence, @present = evidence, present
          @node, @poison, @outputs, @database_offsets = node, poison, outputs, database_offsets
          @crash_suspects = node.crash_suspects
          @report, @consumer, @scheduler, @metrics = report, consumer, scheduler, metrics
          @generation = OS::Generation.count
        end

        attr_reader :began # when the handler began with the messages that it processes now

        def begin_try(item)
          partition = item.partition
          item.begin_try(partition.last_success) do
            @scheduler.success_elsewhere(partition, item.slice.first_offset)
          end
          @began = OS.now
          @outputs.begin_batch
        end

        def marker(item) = @database_offsets || Marker.new(self, item)

        # The handler has processed so many messages, up to that offset; it begins with the next
        # ones now. The block returns their units (WorkItem#unit).
        def succeeded(item, count, offset, &units)
          @evidence.fetch(item.partition.options).succeeded(count, @began, &units)
          @scheduler.succeeded(item.partition, @began)
          recovered(item, offset, &units)
          @began = OS.now
        end

        # They are done, also without the handler.
        def recovered(item, offset, &)
          present = @present.fetch(item.partition.options)
          @metrics.moved if present.any? && present.recovered(item.partition, offset, &)
        end

        # Returns false if the partition was lost before the batch's transaction was committed.
        # Raises OutputFailed if output messages weren't delivered.
        def batch_done(item)
          slice = item.slice
          delivered = @outputs.end_batch(item.partition, item.last_offset)
          return report_undone(slice) unless delivered

          @database_offsets&.advance(item)
          suspects = @crash_suspects.any?
          poison = suspects && @poison.poison?(slice)
          stored = @scheduler.complete(item)
          count(slice, slice.size)
          report_late(stored, slice)
          commit if poison # otherwise it could be delivered again, and would be unsuspected
          @poison.clear(item.partition.key, @scheduler.position(item.partition)) if suspects
          true
        end

        # The partition is revoked: the messages up to that offset are done, and the rest isn't.
        def batch_ended_early(item, offset)
          slice = item.slice
          return @outputs.abort_batch if offset < slice.first_offset
          return report_undone(slice) unless @outputs.end_batch(item.partition, offset)

          stored = @scheduler.mark(item, offset)
          report_late(stored, slice, last_offset: offset)
          keep_rest(item)
        end

        # The item has no messages: its partition's position moves past offsets without any. If that
        # fails, the next message moves it.
        def skip_to(item)
          partition = item.partition
          return unless @outputs.end_batch(partition, item.last_offset)

          @scheduler.complete(item)
          @metrics.moved
        rescue OutputFailed, AuthorizationError => e
          @outputs.abort_batch
          @report.problem("REACH", @report.clean(e.message),
                          name: :kafka_commit_failed, level: :warn, topic: partition.topic,
                          partition: partition.number)
        end

        # Messages up to that offset are done, once what the handler has produced is delivered.
        # Returns false if the partition is lost. Raises OutputFailed.
        #
        # The handler calls it. If Timeout.timeout raised in the middle of it, a transaction could
        # be committed whose messages count as not done, so that its outputs would be written twice.
        def mark(item, offset)
          raise ForkedBatch unless @generation == OS::Generation.count

          Thread.handle_interrupt(NEVER) { mark_whole(item, offset) }
        end

        # The messages after the mark are tried again, and have no failures yet if there is a mark.
        def keep_rest(item) = count(item.slice, item.drop_marked)

        # What is committed isn't delivered again, even if the node crashes.
        def commit
          return if @outputs.transactional?

          pending = nil
          done = @scheduler.committable_offsets do |all|
            pending = @consumer.begin_commit(all) unless all == @committed
          end
          return unless pending

          code = @node.busy(for: COMMIT_SECONDS + 1) { pending.wait(COMMIT_SECONDS) }
          @committed = done if code.zero?
        end

        private

        def mark_whole(item, offset)
          before = item.marked || (item.slice.first_offset - 1)
          store_mark(item, offset) unless item.marked?(offset)
          count = [item.slice.count_to(offset) - item.slice.count_to(before), 0].max
          succeeded(item, count, offset, &item.units(after: before, to: offset))
          item.partition.revocation != :finished
        end

        def store_mark(item, offset)
          delivered = @outputs.end_batch(item.partition, offset)
          raise PartitionLost.new(partition: item.partition.to_s) unless delivered

          @scheduler.mark(item, offset)
          @outputs.begin_batch # if that raises, the messages remain marked
        end

        def count(slice, number)
          return if number.zero?

          @node.processed(number)
          @metrics.count(slice, :messages, number)
        end

        # (A transaction has committed the offset, too.)
        def report_late(stored, slice, **facts)
          report_revoked(LATE, slice, **facts) unless stored == :stored || @outputs.transactional?
        end

        def report_undone(slice)
          report_revoked(UNDONE, slice)
          false
        end

        def report_revoked(error, slice, **facts)
          @report.event(:kafka_revoked_in_flight, level: :warn, **slice.place, **facts,
                                                  error:, hint: REVOKED)
        end
      end
    end
  end
end
