# frozen_string_literal: true

# Completes a batch: waits for its output messages, stores its offset for the next commit, updates
# the counters, and clears any poison suspicion. Each worker has its own.
#
#   completion.begin_try(item)             # the handler is about to be called
#   completion.marker(item)                # what Batch#mark calls
#   completion.batch_done(item)            # the handler has returned
#   completion.batch_ended_early(item, 41) # up to there: the handler wasn't given the rest
#   completion.skip_to(item)               # it has no messages: moves past records without any
#   completion.keep_rest(item)             # messages that aren't marked are tried again
#   completion.commit                      # commits all that is done; waits for the broker
module Skep
  module Kafka
    module Processing
      class Completion
        # Marks messages of one work item as done.
        Marker = Struct.new(:completion, :item) do
          # Returns false if the partition is lost. Raises OutputFailed.
          def mark(offset) = completion.mark(item, offset) #: (Integer) -> bool
        end

        COMMIT_SECONDS = 5.0
        LATE = "processed, but the partition was lost before that: its owner processes these " \
               "messages again"
        UNDONE = "given up: the partition was lost before that; its owner processes these messages"
        private_constant :Marker, :COMMIT_SECONDS, :LATE, :UNDONE

        #: (child: Child, poison: Failure::PoisonDetector, outputs: Producer::HandlerProducer,
        #:   report: Metrics::EventReporter, consumer: Consumer, scheduler: Scheduler,
        #:   metrics: Metrics::ConsumerMetrics) -> void
        def initialize(child:, poison:, outputs:, report:, consumer:, scheduler:, metrics:)
          @child, @poison, @outputs = child, poison, outputs
          @caution = child.caution
          @report, @consumer, @scheduler, @metrics = report, consumer, scheduler, metrics
          @generation = OS::Generation.count
        end

        def begin_try(item) #: (WorkItem) -> void
          item.begin_try(item.partition.last_success)
          @began = OS.now
          @outputs.begin_batch
        end

        def marker(item) = Marker.new(self, item) #: (WorkItem) -> Marker

        # The handler has processed messages; it begins with the next ones now.
        def succeeded(item) #: (WorkItem) -> void
          @scheduler.succeeded(item.partition, @began)
          @began = OS.now
        end

        # Returns false if the partition was lost before the batch's transaction was committed.
        # Raises OutputFailed if output messages weren't delivered.
        def batch_done(item) #: (WorkItem) -> bool
          batch = item.batch
          delivered = @outputs.await_deliveries(item.partition, item.last_offset)
          return report_undone(batch) unless delivered

          suspects = @caution.any?
          poison = suspects && @poison.poison?(batch)
          stored = @scheduler.complete(item)
          count(batch, batch.size)
          report_late(stored, batch)
          commit if poison # otherwise it could be delivered again, and would be unsuspected
          @poison.clear(item.partition) if suspects
          true
        end

        # The partition is revoked: the messages up to that offset are done, and the rest isn't.
        def batch_ended_early(item, offset) #: (WorkItem, Integer) -> void
          batch = item.batch
          return @outputs.abort_batch if offset < batch.first_offset
          return report_undone(batch) unless @outputs.await_deliveries(item.partition, offset)

          stored = @scheduler.mark(item, offset)
          report_late(stored, batch, last_offset: offset)
          keep_rest(item)
        end

        # The item has no messages: its partition's position moves past offsets without any. If that
        # fails, the next message moves it.
        def skip_to(item) #: (WorkItem) -> void
          partition = item.partition
          return unless @outputs.await_deliveries(partition, item.last_offset)

          @scheduler.complete(item)
          @metrics.moved
        rescue OutputFailed, AuthorizationError => e
          @outputs.abort_batch
          @report.problem("REACH", @report.clean(e.message),
                          name: :kafka_commit_failed, level: :warn, topic: partition.topic,
                          partition: partition.number)
        end

        # Messages up to that offset are done, once the messages that the handler has produced so
        # far are delivered. Returns false if the partition is lost. Raises OutputFailed.
        def mark(item, offset) #: (WorkItem, Integer) -> bool
          raise ForkedBatch unless @generation == OS::Generation.count

          store_mark(item, offset) unless item.marked && offset <= item.marked
          succeeded(item)
          item.partition.revoked != :lost
        end

        # The messages after the mark are tried again, and have no failures yet if there is a mark.
        def keep_rest(item) = count(item.batch, item.drop_marked) #: (WorkItem) -> void

        # What is committed isn't delivered again, even if the node crashes.
        def commit #: () -> void
          done = @scheduler.done
          return if done == @committed || @outputs.transactional?

          code = @child.busy(for: COMMIT_SECONDS + 1) { @consumer.commit(done, COMMIT_SECONDS) }
          @committed = done if code.zero?
        end

        private

        def store_mark(item, offset)
          delivered = @outputs.await_deliveries(item.partition, offset)
          raise PartitionLost.new(partition: item.partition.to_s) unless delivered

          @scheduler.mark(item, offset)
          @outputs.begin_batch # if that raises, the messages remain marked
        end

        def count(batch, number)
          return if number.zero?

          @child.count(number)
          @metrics.count(batch, :messages, number)
        end

        # (A transaction has committed the offset, too.)
        def report_late(stored, batch, **facts)
          report_revoked(LATE, batch, **facts) unless stored == :stored || @outputs.transactional?
        end

        def report_undone(batch)
          report_revoked(UNDONE, batch)
          false
        end

        def report_revoked(note, batch, **facts)
          @report.event(:kafka_revoked_in_hand, level: :warn, **batch.place, **facts, note:)
        end
      end
    end
  end
end
