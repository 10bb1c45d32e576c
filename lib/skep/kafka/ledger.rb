# frozen_string_literal: true

# What is done, written down by a worker: at the desk and in librdkafka, so that it is committed; as
# a count; and as the innocence of what was suspect.
#
#   ledger.finish(strand)         # its batch is done
#   ledger.mark(strand, 41)       # of the batch what is up to that offset
#   ledger.cut(strand)            # the rest of it is to be tried again
#   ledger.commit                 # all that is done at the desk; waits for the broker
module Skep
  module Kafka
    class Ledger
      #: (Tools, Child, Poison) -> void
      def initialize(tools, child, poison)
        @child, @poison = child, poison
        @report, @consumer, @desk = tools.report, tools.consumer, tools.desk
        @meter = tools.meter
      end

      def finish(strand) #: (Strand) -> void
        batch = strand.batch
        guilty = @poison.guilty?(batch)
        noted = @desk.settle(strand) { |offset| store(strand, offset) }
        count(batch, batch.size)
        @report.tell(:kafka_revoked_in_hand, level: :warn, **batch.place, note: LATE) unless noted
        commit if guilty # or it would come again, and unsuspected
        @poison.acquit(strand.partition) if @poison.any?
      end

      def mark(strand, offset) #: (Strand, Integer) -> void
        @desk.mark(strand, offset) { |position| store(strand, position) }
      end

      # Goes on with what comes after the mark, which hasn't failed yet then.
      def cut(strand) = count(strand.batch, strand.cut) #: (Strand) -> void

      # What is committed doesn't come again, whatever happens now.
      def commit #: () -> void
        done = @desk.done
        return if done == @committed

        code = @child.busy(for: COMMIT_SECONDS + 1) { @consumer.commit(done, COMMIT_SECONDS) }
        @committed = done if code.zero?
      end

      private

      def store(strand, offset)
        @consumer.store(strand.partition.topic, strand.partition.number, offset)
      end

      def count(batch, number)
        return if number.zero?

        @child.count(number)
        @meter.count(batch, :messages, number)
      end

      COMMIT_SECONDS = 5.0
      LATE = "done, but the partition went elsewhere meanwhile, where these messages come again"
      private_constant :COMMIT_SECONDS, :LATE
    end
    private_constant :Ledger
  end
end
