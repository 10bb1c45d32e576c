# frozen_string_literal: true

# Does one batch: hands it to the user's handler, notes it as done, or sees to its next try.
#
#   worker = Worker.new(tools, handler, thread: 1)
#   item = worker.take         # from the scheduler; nil when that has closed
#   worker.work(item)
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
          @outputs = tools.outputs.for_thread(@child, thread)
          @report = tools.report
          @scheduler, @exclusive_lock, @metrics, @leeway = tools.scheduler, tools.exclusive_lock,
            tools.metrics, tools.leeway
          @poison = Failure::PoisonDetector.new(@child.caution)
          @completion = Completion.new(tools, @child, @poison, @outputs)
          @failure_handler = Failure::FailureHandler.new(tools, @child, @completion, @outputs)
          @sentence = Failure::PoisonVerdict.new(tools, @poison, @completion, @failure_handler)
          @message_filter, @key_extractor = MessageFilter.new(tools.options), key_extractor(tools)
          @tools, @handler = tools, handler
        end

        # Waits for a work item if told to.
        def take(wait: true) = @scheduler.take(wait:, &@key_extractor) #: (?wait: bool) -> WorkItem?

        # Works on a work item just taken from the scheduler, and gives it back.
        def work(item) #: (WorkItem) -> void
          isolate(item) if @poison.any? && item.batch && item.batch.size > 1
          if item.batch then try(item)
          elsif item.reach then @completion.reach(item)
          end
        rescue Exception # it ends the node: nobody is to begin anything more, least of all with this
          [@scheduler, @exclusive_lock].each(&:close)
          raise
        ensure
          @scheduler.free(item)
        end

        private

        def key_extractor(tools)
          return unless tools.options.ordered_by.respond_to?(:call)

          KeyExtractor.new(tools.options, @child, @poison, @exclusive_lock).method(:call)
        end

        # Of a batch that may have crashed a node what may have done it comes alone.
        def isolate(item)
          ranges = @poison.ranges(item.batch)
          return if ranges.empty?

          @report.tell(:message_suspected, level: :warn, **item.batch.place, note: ISOLATED)
          item.isolate { |message| ranges.any? { |range| range.cover?(message.offset) } }
        end

        ISOLATED = "a node has crashed with it in hand: its messages come one at a time"
        private_constant :ISOLATED

        def try(item)
          return @sentence.pass(item) if @poison.guilty?(item.batch)
          return @exclusive_lock.pass { attempt(item) } unless @poison.alone?(item.batch)

          @exclusive_lock.pass(alone: true) do
            @completion.commit # so that, if it crashes, nothing else comes again for it
            attempt(item)
            @completion.commit # if it isn't this one, it is one after it
          end
        end

        # What ends the node, even if it is an exception, leaves in hand what it was.
        def attempt(item)
          given = take_in_hand(item)
          item.failures.begin_try(item.partition.last_success)
          @began = OS.now
          @outputs.begin_batch
          given = sift(item, given)
          hand_over(item, given) if given.size.positive?
          conclude(item, given)
          @child.in_hand(nil)
        rescue StandardError, ScriptError => e # whatever the user's handler raises: it is tried again
          @child.in_hand(nil)
          @failure_handler.met(item, e, at: given.__at(e))
        end

        def hand_over(item, given)
          ownership = PartitionOwnership.new(@tools, @child, item.partition)
          item.partition.give(given) do
            next unless given.__owned(ownership)

            @metrics.time(given) { @handler.call(given, @child) }
          end
        ensure
          given.__over
        end

        def conclude(item, given)
          if given.__wish then @failure_handler.wished(item, given.__wish)
          elsif given.__cut then finish_until(item, given)
          else finish(item, given)
          end
        end

        # A transaction holds all outputs of the handler. If there may be some of messages that the
        # next owner processes, it is aborted.
        def finish_until(item, given)
          beyond = @outputs.transactional? && given.__seen_beyond_cut?
          @completion.finish_until(item, beyond ? item.batch.first_offset - 1 : given.__cut)
        end

        def take_in_hand(item)
          @child.in_hand(item.batch.label)
          @child.beat
          given(item, item.batch)
        end

        def sift(item, batch)
          kept = @message_filter.sift(item, batch)
          kept.equal?(batch) ? batch : given(item, kept)
        end

        def given(item, batch)
          batch.__given_to(@child) do |offset|
            @completion.mark(item, offset).tap { succeeded(item) }
          end
          batch
        end

        # What comes next begins now.
        def succeeded(item)
          @scheduler.succeeded(item.partition, @began)
          @began = OS.now
        end

        def finish(item, given)
          out = item.batch.size - given.size
          @metrics.count(given, :filtered, out) if out.positive?
          succeeded(item) if @completion.finish(item) && given.size.positive?
          @leeway.passed(given)
        end
      end
    end
  end
end
