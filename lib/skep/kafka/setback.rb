# frozen_string_literal: true

# What becomes of a batch whose handler raised: it rests and is tried again; after many attempts
# its messages are tried one by one, and the one that can't be done is set aside.
#
#   setback.met(partition, batch, error)
#   setback.bury(partition, batch, error)   # at once, into the dead letter topic
module Skep
  module Kafka
    class Setback
      #: (Tools, Child, Ledger) -> void
      def initialize(tools, child, ledger)
        @child, @ledger = child, ledger
        @options, @report, @dead_letter = tools.options, tools.report, tools.dead_letter
        @meter = tools.meter
        @backoff = Backoff.new(@options.retry_backoff)
      end

      def met(partition, batch, error) #: (Partition, Batch, Exception) -> void
        partition.failures += 1
        last = @options.attempts && partition.failures >= @options.attempts
        last ? give_up(partition, batch, error) : rest(partition, batch, error)
      end

      # attempts, crashes: what its headers are to say.
      #: (Partition, Batch, Exception, ?attempts: Integer, **Integer) -> void
      def bury(partition, batch, error, attempts: partition.failures, **crashes)
        @child.busy(for: DeadLetter::LONGEST * @options.threads) do
          @dead_letter.put(batch.messages.first, error, attempts:, **crashes)
        end
        @meter.count(batch, :dead_letters)
        @report.failed(:dead_lettered, batch, error, attempt: attempts, **crashes,
                                                     to: @options.dead_letter)
        @ledger.finish(partition, batch)
      rescue NotDelivered => e # it stays here then, and is tried again
        rest(partition, batch, e)
      end

      private

      def rest(partition, batch, error)
        @meter.count(batch, :retries)
        seconds = @backoff.seconds(partition.failures)
        partition.retry_at = OS.now + seconds
        @report.failed(:handler_failed, batch, error, attempt: partition.failures,
                                                      seconds: seconds.round(3))
      end

      # Of many messages it isn't known which can't be done: they are tried one by one first.
      def give_up(partition, batch, error)
        return bury(partition, batch, error) if batch.size == 1

        @report.failed(:handler_failed, batch, error, attempt: partition.failures, seconds: 0,
                                                      note: "from now on one by one")
        @meter.count(batch, :retries)
        partition.split
      end
    end
    private_constant :Setback
  end
end
