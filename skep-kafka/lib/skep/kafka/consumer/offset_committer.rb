# frozen_string_literal: true

# Commits offsets with metadata (Processing::CommitMetadata): by key every commit_interval, in
# place of librdkafka; in order of the partition once, half a second after a failure, and
# librdkafka's next commit replaces it. Commits for which skep waits have the metadata, too.
#
#   committer = OffsetCommitter.new(consumer, interval: 5.0, by_key: true)
#   committer.done(partition)      # a worker's batch is done
#   committer.failed(partition)    # a batch of one message has failed
#   committer.io; committer.seconds_left; committer.commit_due(scheduler)   # for the event loop
#   committer.answered(list.to_a)  # of a commit for which nothing waits, by partition
module Skep
  module Kafka
    class Consumer
      class OffsetCommitter
        FAILURE_SECONDS = 0.5
        private_constant :FAILURE_SECONDS

        def initialize(consumer, interval:, by_key:)
          @consumer, @interval, @by_key = consumer, interval, by_key
          @lock = Mutex.new
          @wakeup_pipe = Librdkafka::WakeupPipe.new
          @changed = {}.compare_by_identity
          @sent = {} # by topic and number
        end

        def done(partition) = @by_key && change(partition, @interval)
        def failed(partition) = change(partition, [FAILURE_SECONDS, @interval].min)
        def io = @wakeup_pipe.io

        # Returns the time until `commit_due` must be called; nil without anything to commit.
        def seconds_left = @lock.synchronize { @due && [@due - OS.now, 0].max }

        # Commits what is due, without waiting for the answer.
        def commit_due(scheduler)
          @wakeup_pipe.drain
          partitions = take_due&.reject(&:revocation) or return
          partitions.each { |partition| @sent[partition.key] = partition }
          # A seek commits after this, or before.
          scheduler.committable_offsets(partitions) do |entries|
            @consumer.commit_later(entries) if entries.any?
          end
        end

        # What wasn't committed is committed once more, after the interval.
        def answered(entries)
          entries.each do |topic, number, _, code|
            partition = @sent.delete([topic, number])
            next if partition.nil? || partition.revocation || code.zero?

            change(partition, @interval)
          end
        end

        def close = @wakeup_pipe.close
        def inspect = "#<Skep::Kafka::Consumer::OffsetCommitter every #{@interval} s>"

        private

        def change(partition, seconds)
          earlier = @lock.synchronize do
            @changed[partition] = true
            due = OS.now + seconds
            @due = due if @due.nil? || due < @due
          end
          @wakeup_pipe.wake if earlier
        end

        def take_due
          @lock.synchronize do
            next unless @due && @due <= OS.now

            @due = nil
            @changed.keys.tap { @changed.clear }
          end
        end
      end
    end
  end
end
