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
      # tools: the Member's Tools; thread: its place on the page, 0 for the node's own thread.
      def initialize(tools, handler, thread:)
        @child = tools.child.lane(thread)
        @report = tools.report
        @desk, @gate, @meter = tools.desk, tools.gate, tools.meter
        @poison = Poison.new(@child.caution)
        @ledger = Ledger.new(tools, @child, @poison)
        @setback = Setback.new(tools, @child, @ledger)
        @sentence = Sentence.new(tools, @poison, @ledger, @setback)
        @handler = handler
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

        @report.tell(:message_suspected, level: :warn, **batch.place, note: ISOLATED)
        partition.isolate { |message| ranges.any? { |range| range.cover?(message.offset) } }
        partition.draw
      end

      ISOLATED = "a node has crashed with it in hand: its messages come one at a time"
      private_constant :ISOLATED

      def try(partition, batch)
        return @sentence.pass(partition, batch) if @poison.guilty?(batch)
        return @gate.pass { attempt(partition, batch) } unless @poison.alone?(batch)

        @gate.pass(alone: true) do
          @ledger.commit # so that, if it crashes, nothing else comes again for it
          attempt(partition, batch)
          @ledger.commit # if it isn't this one, it is one after it
        end
      end

      # What ends the node, even if it is an exception, leaves in hand what it was.
      def attempt(partition, batch)
        @child.in_hand(batch.label)
        @child.beat
        batch.__given_to(@child)
        @meter.time(batch) { @handler.call(batch, @child) }
        @ledger.finish(partition, batch)
        @child.in_hand(nil)
      rescue StandardError, ScriptError => e # whatever the user's handler raises: it is tried again
        @child.in_hand(nil)
        @setback.met(partition, batch, e)
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
