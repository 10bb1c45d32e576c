# frozen_string_literal: true

# What is done, written down by a worker: at the desk and in librdkafka, so that it is committed; as
# a count; and as the innocence of what was suspect.
#
#   ledger.finish(strand)         # its batch is done
#   ledger.finish_until(strand, 41)   # up to there: the handler wasn't given the rest
#   ledger.reach(strand)          # it has none: its partition goes on further than where it is done
#   ledger.mark(strand, 41)       # of the batch what is up to that offset
#   ledger.cut(strand)            # the rest of it is to be tried again
#   ledger.commit                 # all that is done at the desk; waits for the broker
module Skep
  module Kafka
    module Processing
      class Completion
        #: (Tools, Child, Failure::PoisonDetector, Producer::HandlerProducer) -> void
        def initialize(tools, child, poison, outputs)
          @child, @poison, @outputs = child, poison, outputs
          @report, @consumer, @desk = tools.report, tools.consumer, tools.desk
          @meter = tools.meter
          @generation = OS::Generation.count
        end

        # Is it done? Not where the partition was lost before its transaction was through. Raises
        # OutputFailed where what the handler produced isn't where it is to be.
        def finish(strand) #: (WorkItem) -> bool
          batch = strand.batch
          return undone(batch) unless @outputs.seal(strand.partition, strand.last_offset)

          guilty = @poison.guilty?(batch)
          noted = @desk.settle(strand) { |offset| store(strand, offset) }
          count(batch, batch.size)
          tell(LATE, batch) unless noted || @outputs.atomic? # whose offset was committed with it
          commit if guilty # or it would come again, and unsuspected
          @poison.acquit(strand.partition) if @poison.any?
          true
        end

        # The handler was given its messages up to that offset, since the partition goes: they are
        # done, and the rest isn't.
        def finish_until(strand, offset) #: (WorkItem, Integer) -> void
          batch = strand.batch
          return @outputs.abort if offset < batch.first_offset
          return undone(batch) unless @outputs.seal(strand.partition, offset)

          noted = @desk.mark(strand, offset) { |position| store(strand, position) }
          tell(LATE, batch, last_offset: offset) unless noted || @outputs.atomic?
          cut(strand)
        end

        # Where that fails, the next message's offset does it.
        def reach(strand) #: (WorkItem) -> void
          partition = strand.partition
          return unless @outputs.seal(partition, strand.last_offset)

          @desk.settle(strand) { |offset| store(strand, offset) }
          @meter.moved
        rescue OutputFailed, AuthorizationError => e
          @outputs.abort
          @report.problem("REACH", @report.clean(e.message), name: :kafka_commit_failed, level: :warn,
                                                            topic: partition.topic,
                                                            partition: partition.number)
        end

        # What the handler has produced so far is where it is to be then. Raises OutputFailed. False
        # if the partition is lost.
        def mark(strand, offset) #: (WorkItem, Integer) -> bool
          raise ForkedBatch unless @generation == OS::Generation.count
          return !lost?(strand) if strand.marked && offset <= strand.marked

          @outputs.seal(strand.partition,
                        offset) or raise PartitionLost.new(partition: strand.partition.to_s)
          @desk.mark(strand, offset) { |position| store(strand, position) }
          @outputs.begin # where that fails, what is sealed stays done
          !lost?(strand)
        end

        # Goes on with what comes after the mark, which hasn't failed yet then.
        def cut(strand) = count(strand.batch, strand.cut) #: (WorkItem) -> void

        # What is committed doesn't come again, whatever happens now.
        def commit #: () -> void
          done = @desk.done
          return if done == @committed || @outputs.atomic?

          code = @child.busy(for: COMMIT_SECONDS + 1) { @consumer.commit(done, COMMIT_SECONDS) }
          @committed = done if code.zero?
        end

        private

        def lost?(strand) = strand.partition.revoked == :lost

        def store(strand, offset)
          partition = strand.partition
          @outputs.atomic? || @consumer.store(*partition.key, offset, *partition.epoch(offset))
        end

        def count(batch, number)
          return if number.zero?

          @child.count(number)
          @meter.count(batch, :messages, number)
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
