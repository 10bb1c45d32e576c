# frozen_string_literal: true

# What is done, written down by a worker: at the desk and in librdkafka, so that it is committed; as
# a count; and as the innocence of what was suspect.
#
#   ledger.finish(partition, batch)   # it is done
#   ledger.commit                     # all that is done at the desk; waits for the broker
module Skep
  module Kafka
    class Ledger
      #: (Tools, Child, Poison) -> void
      def initialize(tools, child, poison)
        @child, @poison = child, poison
        @report, @consumer, @desk = tools.report, tools.consumer, tools.desk
        @meter = tools.meter
      end

      def finish(partition, batch) #: (Partition, Batch) -> void
        guilty = @poison.guilty?(batch)
        note(partition, batch)
        commit if guilty # or it would come again, and unsuspected
        @poison.acquit(batch) if @poison.any?
      end

      # What is committed doesn't come again, whatever happens now.
      def commit #: () -> void
        done = @desk.done
        return if done == @committed

        code = @child.busy(for: COMMIT_SECONDS + 1) { @consumer.commit(done, COMMIT_SECONDS) }
        @committed = done if code.zero?
      end

      private

      def note(partition, batch)
        noted = @desk.settle(partition, batch) do
          @consumer.store(batch.topic, batch.partition, batch.last_offset + 1)
        end
        @child.count(batch.size)
        @meter.count(batch, :messages, batch.size)
        @report.tell(:kafka_revoked_in_hand, level: :warn, **batch.place, note: LATE) unless noted
      end

      COMMIT_SECONDS = 5.0
      LATE = "done, but the partition went elsewhere meanwhile, where these messages come again"
      private_constant :COMMIT_SECONDS, :LATE
    end
    private_constant :Ledger
  end
end
