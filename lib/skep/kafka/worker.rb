# frozen_string_literal: true

# Does one batch: hands it to the user's handler, notes it as done, or sees to its next try.
#
#   worker = Worker.new(tools, handler, thread: 1)
#   worker.work(desk.take)
#
# A batch counts as done when the handler returned, not before: after a crash it comes again.
module Skep
  module Kafka
    class Worker
      attr_reader :messages #: Integer, how many are done

      # tools: the Member's Tools; thread: its place on the page, 0 for the node's own thread.
      def initialize(tools, handler, thread:)
        @options = tools.options
        @child = tools.child.lane(thread)
        @report = tools.report
        @consumer = tools.consumer
        @desk = tools.desk
        @dead_letter = tools.dead_letter
        @handler = handler
        @messages = 0
        @backoff = Backoff.new(@options.retry_backoff)
      end

      # Works on a partition just taken from the desk, and gives it back.
      def work(partition) #: (Partition) -> void
        batch = partition.draw
        partition.errors.each { |code, text| unreadable(partition, code, text) }
        attempt(partition, batch) if batch
      ensure
        @desk.free(partition)
      end

      private

      def attempt(partition, batch)
        @child.in_hand(batch.label)
        @child.beat
        batch.__given_to(@child)
        @handler.call(batch, @child)
        finish(partition, batch)
      rescue StandardError, ScriptError => e # whatever the user's handler raises: it is tried again
        failed(partition, batch, e)
      ensure
        @child.in_hand(nil)
      end

      def finish(partition, batch)
        noted = @desk.settle(partition, batch) do
          @consumer.store(batch.topic, batch.partition, batch.last_offset + 1)
        end
        @child.count(batch.size)
        @messages += batch.size
        @report.tell(:kafka_revoked_in_hand, level: :warn, **about(batch), note: LATE) unless noted
      end

      LATE = "done, but the partition went elsewhere meanwhile, where these messages come again"
      private_constant :LATE

      def failed(partition, batch, error)
        partition.failures += 1
        last = @options.attempts && partition.failures >= @options.attempts
        last ? give_up(partition, batch, error) : rest(partition, batch, error)
      end

      def rest(partition, batch, error)
        seconds = @backoff.seconds(partition.failures)
        partition.retry_at = OS.now + seconds
        tell(:handler_failed, batch, error, attempt: partition.failures, seconds: seconds.round(3))
      end

      # Of many messages it isn't known which can't be done: they are tried one by one first.
      def give_up(partition, batch, error)
        return bury(partition, batch, error) if batch.size == 1

        tell(:handler_failed, batch, error, attempt: partition.failures, seconds: 0,
                                            note: "from now on one by one")
        partition.split
      end

      def bury(partition, batch, error)
        @child.busy(for: DeadLetter::LONGEST * @options.threads) do
          @dead_letter.put(batch.first, error, attempts: partition.failures)
        end
        tell(:dead_lettered, batch, error, attempt: partition.failures, to: @options.dead_letter)
        finish(partition, batch)
      rescue NotDelivered => e # it stays here then, and is tried again
        rest(partition, batch, e)
      end

      def tell(event, batch, error, **facts)
        message = @report.clean("#{error.class}: #{error.message}")
        @report.tell(event, level: :error, **about(batch), error: message, **facts)
      end

      def about(batch)
        { topic: batch.topic, partition: batch.partition,
          offset: batch.first_offset, last_offset: batch.last_offset }
      end

      def unreadable(partition, code, text)
        return if code == Codes::PARTITION_END

        @report.problem(Native.err2name(code), text, topic: partition.topic,
                                                     partition: partition.number)
      end
    end
    private_constant :Worker
  end
end
