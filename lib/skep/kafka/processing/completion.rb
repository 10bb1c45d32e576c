# frozen_string_literal: true

# What is done, written down by a worker: at the scheduler and in librdkafka, so that it is
# committed; as a count; and as the innocence of what was suspect.
#
#   completion.finish(item)         # its batch is done
#   completion.finish_until(item, 41)   # up to there: the handler wasn't given the rest
#   completion.reach(item)          # it has none: its partition goes on further than where it is done
#   completion.mark(item, 41)       # of the batch what is up to that offset
#   completion.cut(item)            # the rest of it is to be tried again
#   completion.commit                 # all that is done at the scheduler; waits for the broker
module Skep
  module Kafka
    module Processing
      class Completion
        #: (Tools, Child, Failure::PoisonDetector, Producer::HandlerProducer) -> void
        def initialize(tools, child, poison, outputs)
          @child, @poison, @outputs = child, poison, outputs
          @report, @consumer, @scheduler = tools.report, tools.consumer, tools.scheduler
          @metrics = tools.metrics
          @generation = OS::Generation.count
        end

        # Is it done? Not where the partition was lost before its transaction was through. Raises
        # OutputFailed where what the handler produced isn't where it is to be.
        def finish(item) #: (WorkItem) -> bool
          batch = item.batch
          return undone(batch) unless @outputs.await_deliveries(item.partition, item.last_offset)

          guilty = @poison.guilty?(batch)
          noted = @scheduler.settle(item) { |offset| store(item, offset) }
          count(batch, batch.size)
          tell(LATE, batch) unless noted || @outputs.transactional? # whose offset was committed with it
          commit if guilty # or it would come again, and unsuspected
          @poison.acquit(item.partition) if @poison.any?
          true
        end

        # The handler was given its messages up to that offset, since the partition goes: they are
        # done, and the rest isn't.
        def finish_until(item, offset) #: (WorkItem, Integer) -> void
          batch = item.batch
          return @outputs.abort_batch if offset < batch.first_offset
          return undone(batch) unless @outputs.await_deliveries(item.partition, offset)

          noted = @scheduler.mark(item, offset) { |position| store(item, position) }
          tell(LATE, batch, last_offset: offset) unless noted || @outputs.transactional?
          cut(item)
        end

        # Where that fails, the next message's offset does it.
        def reach(item) #: (WorkItem) -> void
          partition = item.partition
          return unless @outputs.await_deliveries(partition, item.last_offset)

          @scheduler.settle(item) { |offset| store(item, offset) }
          @metrics.moved
        rescue OutputFailed, AuthorizationError => e
          @outputs.abort_batch
          @report.problem("REACH", @report.clean(e.message), name: :kafka_commit_failed, level: :warn,
                                                            topic: partition.topic,
                                                            partition: partition.number)
        end

        # What the handler has produced so far is where it is to be then. Raises OutputFailed. False
        # if the partition is lost.
        def mark(item, offset) #: (WorkItem, Integer) -> bool
          raise ForkedBatch unless @generation == OS::Generation.count
          return !lost?(item) if item.marked && offset <= item.marked

          delivered = @outputs.await_deliveries(item.partition, offset)
          raise PartitionLost.new(partition: item.partition.to_s) unless delivered

          @scheduler.mark(item, offset) { |position| store(item, position) }
          @outputs.begin_batch # where that fails, what is delivered stays done
          !lost?(item)
        end

        # Goes on with what comes after the mark, which hasn't failed yet then.
        def cut(item) = count(item.batch, item.cut) #: (WorkItem) -> void

        # What is committed doesn't come again, whatever happens now.
        def commit #: () -> void
          done = @scheduler.done
          return if done == @committed || @outputs.transactional?

          code = @child.busy(for: COMMIT_SECONDS + 1) { @consumer.commit(done, COMMIT_SECONDS) }
          @committed = done if code.zero?
        end

        private

        def lost?(item) = item.partition.revoked == :lost

        def store(item, offset)
          partition = item.partition
          @outputs.transactional? || @consumer.store(*partition.key, offset, *partition.epoch(offset))
        end

        def count(batch, number)
          return if number.zero?

          @child.count(number)
          @metrics.count(batch, :messages, number)
        end

        def undone(batch)
          tell(UNDONE, batch)
          false
        end

        def tell(note, batch, **facts)
          @report.tell(:kafka_revoked_in_hand, level: :warn, **batch.place, **facts, note:)
        end

        COMMIT_SECONDS = 5.0
        LATE = "processed, but the partition was lost before that: its owner processes these " \
               "messages again"
        UNDONE = "given up: the partition was lost before that; its owner processes these messages"
        private_constant :COMMIT_SECONDS, :LATE, :UNDONE
      end
    end
  end
end
