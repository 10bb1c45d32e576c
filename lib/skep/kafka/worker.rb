# frozen_string_literal: true

# Does one batch: hands it to the user's handler, notes it as done, or sees to its next try.
#
#   worker = Worker.new(tools, handler, thread: 1)
#   worker.work(desk.take)
#
# A batch counts as done when the handler returned, not before: after a crash it comes again, then
# message by message, and one that has crashed its node too often isn't handed to it (Poison).
module Skep
  module Kafka
    class Worker
      attr_reader :messages #: Integer, how many are done

      # tools: the Member's Tools; thread: its place on the page, 0 for the node's own thread.
      def initialize(tools, handler, thread:)
        @options = tools.options
        @child = tools.child.lane(thread)
        @report, @consumer = tools.report, tools.consumer
        @desk, @gate = tools.desk, tools.gate
        @poison = Poison.new(@child.caution)
        @dead_letter = tools.dead_letter
        @handler = handler
        @messages = 0
        @backoff = Backoff.new(@options.retry_backoff)
      end

      # Works on a partition just taken from the desk, and gives it back.
      def work(partition) #: (Partition) -> void
        batch = partition.draw
        partition.errors.each { |code, text| unreadable(partition, code, text) }
        batch = isolate(partition, batch) if batch && batch.size > 1 && @poison.any?
        try(partition, batch) if batch
      rescue Exception # it ends the node: nobody is to begin anything more, least of all with this
        [@desk, @gate].each(&:close)
        raise
      ensure
        @desk.free(partition)
      end

      private

      # Of a batch that may have crashed a node what may have done it comes alone.
      def isolate(partition, batch)
        ranges = @poison.ranges(batch)
        return batch if ranges.empty?

        @report.tell(:message_suspected, level: :warn, **about(batch), note: ISOLATED)
        partition.isolate { |message| ranges.any? { |range| range.cover?(message.offset) } }
        partition.draw
      end

      ISOLATED = "a node has crashed with it in hand: its messages come one at a time"
      private_constant :ISOLATED

      def try(partition, batch)
        return condemn(partition, batch) if @poison.guilty?(batch)
        return @gate.pass { attempt(partition, batch) } unless @poison.alone?(batch)

        @gate.pass(alone: true) do
          commit # so that, if it crashes, nothing else comes again for it
          attempt(partition, batch)
          commit # if it isn't this one, it is one after it
        end
      end

      # What ends the node, even if it is an exception, leaves in hand what it was.
      def attempt(partition, batch)
        @child.in_hand(batch.label)
        @child.beat
        batch.__given_to(@child)
        @handler.call(batch, @child)
        finish(partition, batch)
        @child.in_hand(nil)
      rescue StandardError, ScriptError => e # whatever the user's handler raises: it is tried again
        @child.in_hand(nil)
        failed(partition, batch, e)
      end

      def finish(partition, batch)
        guilty = @poison.guilty?(batch)
        note(partition, batch)
        commit if guilty # or it would come again, and unsuspected
        @poison.acquit(batch) if @poison.any?
      end

      def note(partition, batch)
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

      def bury(partition, batch, error, attempts: partition.failures, **crashes)
        @child.busy(for: DeadLetter::LONGEST * @options.threads) do
          @dead_letter.put(batch.messages.first, error, attempts:, **crashes)
        end
        tell(:dead_lettered, batch, error, attempt: attempts, **crashes, to: @options.dead_letter)
        finish(partition, batch)
      rescue NotDelivered => e # it stays here then, and is tried again
        rest(partition, batch, e)
      end

      # It has crashed its node too often, and isn't tried again.
      def condemn(partition, batch)
        crashes = @poison.crashes(batch)
        error = Crashed.new(crashes:, ends: @poison.ends(batch))
        partition.failures += 1 # the second and later ones: to set it aside
        convict(batch, error, crashes) if partition.failures == 1
        carry_out(partition, batch, error, crashes)
      end

      def convict(batch, error, crashes)
        @poison.convict(batch)
        tell(:message_convicted, batch, error, crashes:, verdict: @options.poison,
                                               note: SENTENCES.fetch(@options.poison))
      end

      def carry_out(partition, batch, error, crashes)
        case @options.poison
        when :dead_letter then bury(partition, batch, error, attempts: crashes, crashes:)
        when :pause then partition.pause
        when :skip then finish(partition, batch)
        end
      end

      SENTENCES = {
        dead_letter: "it isn't tried again: the partition moves on",
        pause: "its partition rests: mend the code and reload, or begin anew with dead_letter: " \
               "or poison: :skip",
        skip: "it isn't tried again: the partition moves on without it"
      }.freeze
      private_constant :SENTENCES

      # What is committed doesn't come again, whatever happens now.
      def commit
        done = @desk.done
        return if done == @committed

        code = @child.busy(for: COMMIT_SECONDS + 1) { @consumer.commit(done, COMMIT_SECONDS) }
        @committed = done if code.zero?
      end

      COMMIT_SECONDS = 5.0
      private_constant :COMMIT_SECONDS

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
