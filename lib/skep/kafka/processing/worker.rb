# frozen_string_literal: true

# Processes work items: calls the user's handler with a batch, then completes the batch or has the
# failure handled.
#
#   worker = Worker.new(handler, thread: 1, **others)
#   worker.run   # on a thread of its own, until the scheduler is closed (Scheduler#next_item)
#   worker.run_until_quiet(node, failure: -> { nil })   # on the node's main thread
#
# A batch is done when the handler has returned: Completion (below) waits for its output and stores
# its offset. PartitionOwnership (membership_lease.rb) says if a partition is still this node's.
# After a crash a batch's messages are processed one at a time; a message that crashes each node
# isn't processed any more (Failure::PoisonDetector).
module Skep
  module Kafka
    module Processing
      class Worker
        CRASHED = "a node crashed while it processed one of these messages"
        ISOLATED = "skep processes them one at a time"
        # What a topic's options say of its messages; of each topic its own, if these have any.
        Topic = Struct.new(:filter, :key_extractor, :deserializer, :failure_handler,
                           keyword_init: true)
        OTHERS_FIRST = 3.0 # seconds that others have before a message at which a node hung
        private_constant :ISOLATED, :OTHERS_FIRST, :Topic

        # thread: the worker's place on the node's status page; 0 for the node's main thread. The
        # others: see Consumer::GroupMember.build.
        def initialize(handler, thread:, options:, node:, report:, consumer:, lease:, scheduler:,
                       metrics:, outputs:, dead_letter_queue:, exclusive_lock:,
                       database_offsets: nil)
          @handler, @node = handler, node.thread(thread)
          @report, @consumer, @lease, @lock = report, consumer, lease, exclusive_lock
          @transactional, @database_offsets = options.transactional, database_offsets
          @scheduler, @metrics, @outputs = scheduler, metrics, outputs.for_thread(@node, thread)
          @tracing = Metrics::Tracing.for(options.group)
          @crash_suspects = @node.crash_suspects
          @poison = Failure::PoisonDetector.new(@crash_suspects)
          common = { node: @node, outputs: @outputs, poison: @poison, report:, scheduler:,
                     metrics: }
          @completion = Completion.new(**common, consumer:, database_offsets:)
          @topics = options.all.to_h do |one|
            [one, topic(one, **common, completion: @completion, dead_letter_queue:)]
          end.compare_by_identity
        end

        # Processes work items until the scheduler is closed.
        def run
          while (item = next_item)
            work(item)
          end
        end

        # Processes work items until the node is quiet. failure: returns an error that is to end it.
        def run_until_quiet(node, failure:)
          until node.quiet?
            @scheduler.wake_ready
            failure.call&.then { |error| raise error }
            item = next_item(wait: false)
            item ? work(item) : @scheduler.wait(node)
          end
        end

        # Waits for a work item, unless wait is false. Returns nil if there is none, or once the
        # scheduler is closed.
        def next_item(wait: true)
          while (item = @scheduler.next_item(wait:))
            return item unless item.needs_keys?

            sorted = submit_keys(item)
            return sorted if sorted
          end
        end

        # Processes a work item of next_item and releases it.
        def work(item)
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

        def topic(options, **parts)
          if options.ordered_by.respond_to?(:call)
            key_extractor = KeyExtractor.new(options, @node, @poison, @lock)
          end
          Topic.new(filter: options.filter, key_extractor:,
                    deserializer: PayloadDeserializer.for(options.deserializer),
                    failure_handler: Failure::FailureHandler.new(**parts, options:))
        end

        def topic_of(item) = @topics.fetch(item.partition.options)

        def submit_keys(unsorted)
          keys = topic_of(unsorted).key_extractor.call(unsorted.batch)
          @scheduler.submit_keys(unsorted, keys)
        ensure
          @scheduler.release(unsorted) unless keys # an exception that ends the node
        end

        # Messages that may have crashed a node get batches of their own.
        def isolate_suspects(item)
          ranges = @poison.ranges(item.batch)
          return if ranges.empty?

          @report.event(:message_isolated, level: :warn, **item.batch.place, error: CRASHED,
                                            hint: ISOLATED)
          item.isolate { |message| ranges.any? { |range| range.cover?(message.offset) } }
        end

        # Returns true if messages are suspected of having crashed a node.
        def suspects? = @crash_suspects.any?

        def process(item) = @lock.synchronize { try(item) }

        def process_with_suspects(item)
          isolate_suspects(item) if item.batch.size > 1
          return topic_of(item).failure_handler.poison(item) if @poison.poison?(item.batch)
          return process(item) unless @poison.alone?(item.batch)
          return if others_first?(item)

          @lock.synchronize(exclusive: true) do
            @completion.commit # if this message crashes the node, no other is delivered again
            try(item)
            @completion.commit # if the node crashes from here on, this message isn't the cause
          end
        end

        # A hang counts against its message only if something else was done (CrashAttribution), and
        # what is suspected lets nothing run beside it: so others of this node go first, once.
        def others_first?(item)
          return false if item.waited_for_others || !@poison.hung?(item.batch)

          item.back_off(OTHERS_FIRST)
          item.waited_for_others = true
        end

        # An exception that ends the node leaves the batch on the status page.
        def try(item)
          topic = topic_of(item)
          @node.in_flight(item.batch.label)
          @node.beat
          batch = attach(item, item.batch)
          @completion.begin_try(item)
          batch = filter(topic, item, batch)
          batch = attach(item, topic.deserializer.call(batch)) if topic.deserializer
          batch = run_handler(item, batch)
          conclude(item, batch)
          @node.in_flight(nil)
        rescue PayloadDeserializer::Unreadable => e
          @node.in_flight(nil)
          offset, error = e.errors.first
          topic.failure_handler.handler_raised(item, error, at: offset, unreadable: e.errors.keys)
        rescue UserError => e # the batch is retried
          @node.in_flight(nil)
          topic.failure_handler.handler_raised(item, e, at: batch.__failed_at(e))
        end

        def run_handler(item, batch)
          if @database_offsets && (batch.size.positive? || item.partition.database_offset.nil?)
            return @database_offsets.process(item, batch) { |some| run_in_transaction(item, some) }
          end

          call_handler(item, batch) if batch.size.positive?
          batch
        end

        # Returns the last offset that is done, once its output messages are written; nil: none is.
        def run_in_transaction(item, batch)
          attach(item, batch)
          call_handler(item, batch) if batch.size.positive?
          return if batch.__requested

          last = batch.__ended_at ? last_done(item, batch) : item.last_offset
          return if last < item.batch.first_offset

          @outputs.end_batch(item.partition, last)
          last
        end

        # Returns the batch, or one without the messages for which `filter:` is false. An exception
        # of the filter counts as one of the handler.
        def filter(topic, item, batch)
          topic.key_extractor&.raise_again(item, batch)
          return batch unless topic.filter

          kept = batch.select { |message| topic.filter.call(message) }
          kept.size == batch.size ? batch : attach(item, batch.__of(kept))
        end

        def attach(item, batch)
          batch.tap { |one| one.__attach(@node, @completion.marker(item)) }
        end

        def call_handler(item, batch)
          ownership = PartitionOwnership.new(node: @node, partition: item.partition,
                                             consumer: @consumer, scheduler: @scheduler,
                                             lease: @lease, asks: !@transactional)
          item.partition.give(batch) do
            @metrics.time(batch) { handle(batch) } if batch.__owned(ownership)
          end
        ensure
          batch.__detach
        end

        def handle(batch)
          return @handler.call(batch, @node) unless @tracing

          batch.__traced_by(@tracing)
          @tracing.batch(batch) { @handler.call(batch, @node) }
        end

        def conclude(item, batch)
          requested = batch.__requested
          if requested then topic_of(item).failure_handler.pause_or_seek(item, requested)
          elsif batch.__ended_at then @completion.batch_ended_early(item, last_done(item, batch))
          else batch_done(item, batch)
          end
        end

        # A transaction holds all outputs of the handler. It is aborted if some of them may come
        # from messages that the partition's next owner processes.
        def last_done(item, batch)
          whole = @outputs.transactional? || @database_offsets
          whole && batch.__seen_beyond_end? ? item.batch.first_offset - 1 : batch.__ended_at
        end

        def batch_done(item, batch)
          filtered = item.batch.size - batch.size
          @metrics.count(batch, :filtered, filtered) if filtered.positive?
          @completion.succeeded(item) if @completion.batch_done(item) && batch.size.positive?
        end
      end

      # Completes a batch: waits for its output messages, stores its offset for the next commit,
      # updates the counters, and clears any poison suspicion. Each worker has its own.
      #
      #   completion.begin_try(item)             # the handler is about to be called
      #   completion.marker(item)                # what Batch#mark calls
      #   completion.batch_done(item)            # the handler has returned
      #   completion.batch_ended_early(item, 41) # up to there: the handler wasn't given the rest
      #   completion.skip_to(item)               # it has no messages, only records to move past
      #   completion.keep_rest(item)             # what the handler hasn't marked is tried again
      #   completion.commit                      # commits all that is done; waits for the broker
      #
      # A commit has two steps. When a batch is done or marked, Scheduler#complete or #mark moves
      # the partition's position. If it has moved, Consumer#store stores it in librdkafka. Then one
      # of these commits it, in the first three rows without waiting for the answer:
      #
      # | when | by | thread |
      # |---|---|---|
      # | every `commit_interval`, unless by key | librdkafka: the stored offsets | its own |
      # | every `commit_interval` by key; after a failure alone | OffsetCommitter | event loop |
      # | when partitions are unassigned, unless by key | librdkafka: the stored offsets | its own |
      # | partitions are revoked; before others are assigned | RebalanceListener | event loop |
      # | an outage ends; the node leaves before its kill | EventLoop | event loop |
      # | the node stops; before, if the whole swarm stops | EventLoop, await_other_nodes | main |
      # | a partition seeks | Consumer#commit_and_seek | the one that reads it |
      # | around a suspect message; after a poison message | #commit, below | worker |
      # | the group may not know this node any more | PartitionOwnership | worker |
      #
      # In a transactional source a batch's offset isn't stored: TransactionalProducer#end_batch, on
      # the worker's thread, commits it with the output, and #commit does nothing. A commit at a
      # revocation or at the stop only repeats offsets that transactions have committed. It leaves
      # out a partition whose transaction has no answer yet (AssignedPartition#in_doubt?).
      #
      # With `offsets: :database` the offset that counts is in the handler's database transaction.
      class Completion
        # Marks messages of one work item as done.
        Marker = Struct.new(:completion, :item) do
          # Returns false if the partition is lost. Raises OutputFailed.
          def mark(offset) = completion.mark(item, offset)
        end

        COMMIT_SECONDS = 5.0
        LATE = "the partition was lost before these messages were done"
        UNDONE = "the partition was lost before these messages were processed"
        REVOKED = "Its new owner processes them"
        private_constant :Marker, :COMMIT_SECONDS, :LATE, :UNDONE, :REVOKED

        def initialize(node:, poison:, outputs:, report:, consumer:, scheduler:, metrics:,
                       database_offsets: nil)
          @node, @poison, @outputs, @database_offsets = node, poison, outputs, database_offsets
          @crash_suspects = node.crash_suspects
          @report, @consumer, @scheduler, @metrics = report, consumer, scheduler, metrics
          @generation = OS::Generation.count
        end

        def begin_try(item)
          partition = item.partition
          item.begin_try(partition.last_success) do
            @scheduler.success_elsewhere(partition, item.batch.first_offset)
          end
          @began = OS.now
          @outputs.begin_batch
        end

        def marker(item) = @database_offsets || Marker.new(self, item)

        # The handler has processed messages; it begins with the next ones now.
        def succeeded(item)
          @scheduler.succeeded(item.partition, @began)
          @began = OS.now
        end

        # Returns false if the partition was lost before the batch's transaction was committed.
        # Raises OutputFailed if output messages weren't delivered.
        def batch_done(item)
          batch = item.batch
          delivered = @outputs.end_batch(item.partition, item.last_offset)
          return report_undone(batch) unless delivered

          @database_offsets&.advance(item)
          suspects = @crash_suspects.any?
          poison = suspects && @poison.poison?(batch)
          stored = @scheduler.complete(item)
          count(batch, batch.size)
          report_late(stored, batch)
          commit if poison # otherwise it could be delivered again, and would be unsuspected
          @poison.clear(item.partition) if suspects
          true
        end

        # The partition is revoked: the messages up to that offset are done, and the rest isn't.
        def batch_ended_early(item, offset)
          batch = item.batch
          return @outputs.abort_batch if offset < batch.first_offset
          return report_undone(batch) unless @outputs.end_batch(item.partition, offset)

          stored = @scheduler.mark(item, offset)
          report_late(stored, batch, last_offset: offset)
          keep_rest(item)
        end

        # The item has no messages: its partition's position moves past offsets without any. If that
        # fails, the next message moves it.
        def skip_to(item)
          partition = item.partition
          return unless @outputs.end_batch(partition, item.last_offset)

          @scheduler.complete(item)
          @metrics.moved
        rescue OutputFailed, AuthorizationError => e
          @outputs.abort_batch
          @report.problem("REACH", @report.clean(e.message),
                          name: :kafka_commit_failed, level: :warn, topic: partition.topic,
                          partition: partition.number)
        end

        # Messages up to that offset are done, once what the handler has produced is delivered.
        # Returns false if the partition is lost. Raises OutputFailed.
        def mark(item, offset)
          raise ForkedBatch unless @generation == OS::Generation.count

          store_mark(item, offset) unless item.marked && offset <= item.marked
          succeeded(item)
          item.partition.revoked != :lost
        end

        # The messages after the mark are tried again, and have no failures yet if there is a mark.
        def keep_rest(item) = count(item.batch, item.drop_marked)

        # What is committed isn't delivered again, even if the node crashes.
        def commit
          return if @outputs.transactional?

          pending = nil
          done = @scheduler.certain do |all|
            pending = @consumer.begin_commit(all) unless all == @committed
          end
          return unless pending

          code = @node.busy(for: COMMIT_SECONDS + 1) { pending.wait(COMMIT_SECONDS) }
          @committed = done if code.zero?
        end

        private

        def store_mark(item, offset)
          delivered = @outputs.end_batch(item.partition, offset)
          raise PartitionLost.new(partition: item.partition.to_s) unless delivered

          @scheduler.mark(item, offset)
          @outputs.begin_batch # if that raises, the messages remain marked
        end

        def count(batch, number)
          return if number.zero?

          @node.processed(number)
          @metrics.count(batch, :messages, number)
        end

        # (A transaction has committed the offset, too.)
        def report_late(stored, batch, **facts)
          report_revoked(LATE, batch, **facts) unless stored == :stored || @outputs.transactional?
        end

        def report_undone(batch)
          report_revoked(UNDONE, batch)
          false
        end

        def report_revoked(error, batch, **facts)
          @report.event(:kafka_revoked_in_flight, level: :warn, **batch.place, **facts,
                                                  error:, hint: REVOKED)
        end
      end
    end
  end
end
