# frozen_string_literal: true

# Processes work items: calls the user's handler with a batch, then completes the batch or has the
# failure handled.
#
#   worker = Worker.new(handler, thread: 1, **others)
#   item = worker.next_item    # from the scheduler; nil once that is closed
#   worker.work(item)
#
# A batch is done when the handler has returned, not before. After a crash its messages are
# delivered again, first alone and at last not at all (Failure::PoisonDetector).
module Skep
  module Kafka
    module Processing
      class Worker
        ISOLATED = "a node has crashed with it in hand: its messages come one at a time"
        private_constant :ISOLATED

        # thread: the worker's place on the node's status page; 0 for the node's main thread. The
        # others: see Consumer::GroupMember.build.
        def initialize(handler, thread:, options:, child:, report:, consumer:, lease:, scheduler:,
                       metrics:, outputs:, dead_letter:, exclusive_lock:)
          @handler, @child, @filter = handler, child.lane(thread), options.filter
          @report, @consumer, @lease, @lock = report, consumer, lease, exclusive_lock
          @transactional = options.transactional
          @scheduler, @metrics, @outputs = scheduler, metrics, outputs.for_thread(@child, thread)
          @caution = @child.caution
          @poison = Failure::PoisonDetector.new(@caution)
          common = { child: @child, outputs: @outputs, poison: @poison, report:, scheduler:,
                     metrics: }
          @completion = Completion.new(**common, consumer:)
          @failure_handler = Failure::FailureHandler.new(**common, completion: @completion,
                                                                   options:, dead_letter:)
          return unless options.ordered_by.respond_to?(:call)

          @key_extractor = KeyExtractor.new(options, @child, @poison, @lock)
        end

        # Waits for a work item, unless wait is false. Returns nil if there is none, or once the
        # scheduler is closed.
        def next_item(wait: true) #: (?wait: bool) -> WorkItem?
          while (item = @scheduler.next_item(wait:))
            return item unless item.needs_keys?

            sorted = submit_keys(item)
            return sorted if sorted
          end
        end

        # Processes a work item of next_item and releases it.
        def work(item) #: (WorkItem) -> void
          if item.batch then suspects? ? process_with_suspects(item) : process(item)
          elsif item.end_offset then @completion.skip_to(item)
          end
        rescue Exception # it ends the node: no worker is to begin anything more
          [@scheduler, @lock].each(&:close)
          raise
        ensure
          @scheduler.release(item)
        end

        private

        def submit_keys(unsorted)
          keys = @key_extractor.call(unsorted.batch)
          @scheduler.submit_keys(unsorted, keys)
        ensure
          @scheduler.release(unsorted) unless keys # an exception that ends the node
        end

        # Messages that may have crashed a node get batches of their own.
        def isolate_suspects(item)
          ranges = @poison.ranges(item.batch)
          return if ranges.empty?

          @report.event(:message_suspected, level: :warn, **item.batch.place, note: ISOLATED)
          item.isolate { |message| ranges.any? { |range| range.cover?(message.offset) } }
        end

        # Returns true if messages are suspected of having crashed a node.
        def suspects? = @caution.any?

        def process(item) = @lock.synchronize { try(item) }

        def process_with_suspects(item)
          isolate_suspects(item) if item.batch.size > 1
          return @failure_handler.poison(item) if @poison.poison?(item.batch)
          return process(item) unless @poison.alone?(item.batch)

          @lock.synchronize(exclusive: true) do
            @completion.commit # if this message crashes the node, no other is delivered again
            try(item)
            @completion.commit # if the node crashes from here on, this message isn't the cause
          end
        end

        # An exception that ends the node leaves the batch on the status page.
        def try(item)
          @child.in_hand(item.batch.label)
          @child.beat
          batch = attach(item, item.batch)
          @completion.begin_try(item)
          batch = filter(item, batch)
          call_handler(item, batch) if batch.size.positive?
          conclude(item, batch)
          @child.in_hand(nil)
        rescue StandardError, ScriptError => e # the user's: the batch is retried
          @child.in_hand(nil)
          @failure_handler.handler_raised(item, e, at: batch.__failed_at(e))
        end

        # Returns the batch, or one without the messages for which `filter:` is false. An exception
        # of the filter counts as one of the handler.
        def filter(item, batch)
          @key_extractor&.raise_again(item, batch)
          return batch unless @filter

          kept = batch.select { |message| @filter.call(message) }
          kept.size == batch.size ? batch : attach(item, batch.__of(kept))
        end

        def attach(item, batch)
          batch.__attach(@child, @completion.marker(item))
          batch
        end

        def call_handler(item, batch)
          ownership = PartitionOwnership.new(child: @child, partition: item.partition,
                                             consumer: @consumer, lease: @lease,
                                             asks: !@transactional)
          item.partition.give(batch) do
            @metrics.time(batch) { @handler.call(batch, @child) } if batch.__owned(ownership)
          end
        ensure
          batch.__detach
        end

        def conclude(item, batch)
          if batch.__requested then @failure_handler.pause_or_seek(item, batch.__requested)
          elsif batch.__ended_at then batch_ended_early(item, batch)
          else batch_done(item, batch)
          end
        end

        # A transaction holds all outputs of the handler. It is aborted if some of them may come
        # from messages that the partition's next owner processes.
        def batch_ended_early(item, batch)
          beyond = @outputs.transactional? && batch.__seen_beyond_end?
          last = beyond ? item.batch.first_offset - 1 : batch.__ended_at
          @completion.batch_ended_early(item, last)
        end

        def batch_done(item, batch)
          filtered = item.batch.size - batch.size
          @metrics.count(batch, :filtered, filtered) if filtered.positive?
          @completion.succeeded(item) if @completion.batch_done(item) && batch.size.positive?
        end
      end
    end
  end
end
