# frozen_string_literal: true

# Does one batch: hands it to the user's handler, notes it as done, or sees to its next try.
#
#   worker = Worker.new(tools, handler, thread: 1)
#   strand = worker.take         # from the desk; nil when that has closed
#   worker.work(strand)
#
# A batch counts as done when the handler returned, not before: after a crash it comes again, then
# message by message, and one that has crashed its node too often isn't handed to it
# (Failure::PoisonDetector).
module Skep
  module Kafka
    module Processing
      class Worker
        # tools: the Consumer::GroupMember's Tools; thread: its place on the page, 0 for the node's
        # own thread.
        def initialize(tools, handler, thread:)
          @child = tools.child.lane(thread)
          @outputs = tools.outputs.of(@child, thread)
          @report = tools.report
          @desk, @gate, @meter, @leeway = tools.desk, tools.gate, tools.meter, tools.leeway
          @poison = Failure::PoisonDetector.new(@child.caution)
          @ledger = Completion.new(tools, @child, @poison, @outputs)
          @setback = Failure::FailureHandler.new(tools, @child, @ledger, @outputs)
          @sentence = Failure::PoisonVerdict.new(tools, @poison, @ledger, @setback)
          @sieve, @asker = MessageFilter.new(tools.options), asker(tools)
          @tools, @handler = tools, handler
        end

        # Waits for a strand if told to.
        def take(wait: true) = @desk.take(wait:, &@asker) #: (?wait: bool) -> WorkItem?

        # Works on a strand just taken from the desk, and gives it back.
        def work(strand) #: (WorkItem) -> void
          isolate(strand) if @poison.any? && strand.batch && strand.batch.size > 1
          if strand.batch then try(strand)
          elsif strand.reach then @ledger.reach(strand)
          end
        rescue Exception # it ends the node: nobody is to begin anything more, least of all with this
          [@desk, @gate].each(&:close)
          raise
        ensure
          @desk.free(strand)
        end

        private

        def asker(tools)
          return unless tools.options.ordered_by.respond_to?(:call)

          KeyExtractor.new(tools.options, @child, @poison, @gate).method(:call)
        end

        # Of a batch that may have crashed a node what may have done it comes alone.
        def isolate(strand)
          ranges = @poison.ranges(strand.batch)
          return if ranges.empty?

          @report.tell(:message_suspected, level: :warn, **strand.batch.place, note: ISOLATED)
          strand.isolate { |message| ranges.any? { |range| range.cover?(message.offset) } }
        end

        ISOLATED = "a node has crashed with it in hand: its messages come one at a time"
        private_constant :ISOLATED

        def try(strand)
          return @sentence.pass(strand) if @poison.guilty?(strand.batch)
          return @gate.pass { attempt(strand) } unless @poison.alone?(strand.batch)

          @gate.pass(alone: true) do
            @ledger.commit # so that, if it crashes, nothing else comes again for it
            attempt(strand)
            @ledger.commit # if it isn't this one, it is one after it
          end
        end

        # What ends the node, even if it is an exception, leaves in hand what it was.
        def attempt(strand)
          given = take_in_hand(strand)
          strand.failures.begin_try(strand.partition.last_success)
          @began = OS.now
          @outputs.begin
          given = sift(strand, given)
          hand_over(strand, given) if given.size.positive?
          conclude(strand, given)
          @child.in_hand(nil)
        rescue StandardError, ScriptError => e # whatever the user's handler raises: it is tried again
          @child.in_hand(nil)
          @setback.met(strand, e, at: given.__at(e))
        end

        def hand_over(strand, given)
          ownership = PartitionOwnership.new(@tools, @child, strand.partition)
          strand.partition.give(given) do
            next unless given.__owned(ownership)

            @meter.time(given) { @handler.call(given, @child) }
          end
        ensure
          given.__over
        end

        def conclude(strand, given)
          if given.__wish then @setback.wished(strand, given.__wish)
          elsif given.__cut then finish_until(strand, given)
          else finish(strand, given)
          end
        end

        # A transaction holds all outputs of the handler. If there may be some of messages that the
        # next owner processes, it is aborted.
        def finish_until(strand, given)
          beyond = @outputs.atomic? && given.__seen_beyond_cut?
          @ledger.finish_until(strand, beyond ? strand.batch.first_offset - 1 : given.__cut)
        end

        def take_in_hand(strand)
          @child.in_hand(strand.batch.label)
          @child.beat
          given(strand, strand.batch)
        end

        def sift(strand, batch)
          kept = @sieve.sift(strand, batch)
          kept.equal?(batch) ? batch : given(strand, kept)
        end

        def given(strand, batch)
          batch.__given_to(@child) do |offset|
            @ledger.mark(strand, offset).tap { succeeded(strand) }
          end
          batch
        end

        # What comes next begins now.
        def succeeded(strand)
          @desk.succeeded(strand.partition, @began)
          @began = OS.now
        end

        def finish(strand, given)
          out = strand.batch.size - given.size
          @meter.count(given, :filtered, out) if out.positive?
          succeeded(strand) if @ledger.finish(strand) && given.size.positive?
          @leeway.passed(given)
        end
      end
    end
  end
end
