# frozen_string_literal: true

# Processes work items: calls the user's handler with a batch, then completes the batch or has the
# failure handled.
#
#   worker = Worker.new(handler, thread: 1, **others)
#   worker.run   # on a thread of its own, until the scheduler is closed (Scheduler#next_item)
#   worker.run_until_quiet(node, failure: -> { nil })   # on the node's main thread
#
# A batch is done when the handler has returned: Completion waits for its output and stores its
# offset. PartitionOwnership says if a partition is still this node's.
# After a crash the messages that may be its cause are processed one at a time, and one that crashes
# each node isn't processed any more (Failure::PoisonDetector).
module Skep
  module Kafka
    module Processing
      class Worker
        CRASHED = "a node crashed while it processed one of these messages"
        ISOLATED = "skep processes those that may be the cause one at a time, alone in their node"
        EXITED = "`exit` or `abort` ends the node, and counts as a crash of the message. Raise " \
                 "an exception instead, a NonRetryable for a message that can't succeed"
        # What a topic's options say of its messages; of each topic its own, if these have any.
        Topic = Struct.new(:filter, :key_extractor, :deserializer, :failure_handler,
                           keyword_init: true)
        OTHERS_FIRST = 3.0 # seconds that others have before a message at which a node hung
        private_constant :ISOLATED, :EXITED, :OTHERS_FIRST, :Topic

        # thread: the worker's place on the node's scoreboard; 0 for the node's main thread. The
        # others: see Consumer::GroupMember.build.
        def initialize(handler, thread:, options:, node:, report:, consumer:, lease:, scheduler:,
                       metrics:, outputs:, dead_letter_queue:, exclusive_lock:, evidence:, present:,
                       database_offsets: nil)
          @handler, @node = handler, node.thread(thread)
          @report, @consumer, @lease, @lock = report, consumer, lease, exclusive_lock
          @transactional, @database_offsets = options.transactional, database_offsets
          @scheduler, @metrics, @outputs = scheduler, metrics, outputs.for_thread(@node, thread)
          @tracing = Metrics::Tracing.for(options.group)
          @labels = {} # by topic
          @crash_suspects = @node.crash_suspects
          @poison = Failure::PoisonDetector.new(@crash_suspects)
          common = { node: @node, outputs: @outputs, poison: @poison, report:, scheduler:,
                     metrics:, evidence:, present: }
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
          @scheduler.next_item(wait:) do |partition|
            topic_of(partition).key_extractor.call(partition.awaiting_keys)
          end
        end

        # Processes a work item of next_item and releases it.
        def work(item)
          if item.slice then suspects? ? process_with_suspects(item) : process(item)
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

        def topic_of(entry) = @topics.fetch(entry.partition.options) # or of a partition

        # Messages that may have crashed a node get slices of their own.
        def isolate_suspects(item)
          ranges = @poison.ranges(item.slice)
          slice = item.slice
          return unless item.isolate { |one| ranges.any? { |range| range.cover?(one.offset) } }

          @report.event(:message_isolated, level: :warn, **slice.place, error: CRASHED,
                                            hint: ISOLATED)
        end

        # Returns true if messages are suspected of having crashed a node.
        def suspects? = @crash_suspects.any?

        def process(item) = @lock.synchronize { try(item) }

        # The suspects of a batch have one turn, as their batch would have: if each waited for the
        # other partitions' batches, a thousand of them would take minutes.
        def process_with_suspects(item)
          isolate_suspects(item) if item.slice.size > 1
          loop do
            slice = item.slice
            process_slice(item)
            break if item.slice.equal?(slice) || !suspect_next?(item)
          end
        end

        def suspect_next?(item)
          return false if item.slice.nil? || item.retry_at || @node.quiet?

          partition = item.partition
          !partition.revocation && !partition.seeking? && @poison.alone?(item.slice)
        end

        def process_slice(item)
          return poison(item) if @poison.poison?(item.slice)
          return process(item) unless @poison.alone?(item.slice)
          # A hang counts against its message only if something else was done (CrashAttribution).
          # What is suspected lets nothing run beside it: so others of this node go first, once.
          return if @poison.hung?(item.slice) && item.let_others_go_first(OTHERS_FIRST)

          named = @poison.named?(item.slice)
          @lock.synchronize(exclusive: true) do
            @completion.commit if named # if it crashes the node, no other is delivered again
            try(item)
            @completion.commit if named # if the node crashes from here on, it isn't the cause
          end
        end

        # The database may say that the message is done: its node crashed after that.
        def poison(item)
          attempt = Attempt.new(item.slice)
          topic = topic_of(item)
          if @database_offsets && @database_offsets.position(item) > item.slice.last_offset
            return @completion.batch_done(item)
          end

          topic.failure_handler.poison(item, attempt)
        rescue OffsetsFailed => e # the database is asked again
          failed(topic, item, attempt, { nil => e })
        end

        def one_transaction = @transactional || !@database_offsets.nil?

        # An exception that ends the node leaves the messages on the scoreboard.
        def try(item)
          topic = topic_of(item)
          @node.beat # before it: a beat after it is progress with it
          @node.in_flight(item.slice.label)
          attempt = Attempt.new(item.slice, @node, @completion.marker(item), one_transaction:)
          @completion.begin_try(item)
          call_user(topic, item, attempt)
          conclude(topic, item, attempt)
          @node.in_flight(nil)
        rescue PayloadDeserializer::Unreadable => e
          failed(topic, item, attempt, e.errors, unreadable: true)
        rescue UserError => e # the messages are tried again
          failed(topic, item, attempt, { attempt.failed_at(e) => e })
        rescue SystemExit => e
          report_exit(item, attempt.failed_at(e), e)
          raise
        end

        # Nothing else says that the handler has ended its node in an orderly way.
        def report_exit(item, offset, error)
          @report.failed(:handler_exited, item.slice, error, exit_status: error.status,
                                                            **{ offset: }.compact, hint: EXITED)
        end

        # A thread that the user's code ends (Thread#exit) can't continue: its batch has failed, and
        # another thread takes its place (Threads::Background).
        def call_user(topic, item, attempt)
          running = true
          UserCode.call do
            filter(topic, item, attempt)
            deserialize(topic, attempt)
          end
          run_handler(item, attempt)
          running = false
        rescue Exception # it is raised again; what ends without one is left
          running = false
          raise
        ensure
          failed(topic, item, attempt, { nil => HandlerLeft.new }) if running && killed?
        end

        # At the process's exit Ruby kills its threads.
        def killed? = Thread.current.status == "aborting" && !Threads::Background.over?

        # errors: by the offset of the message, nil if that isn't known; several if the deserializer
        # raised them.
        def failed(topic, item, attempt, errors, unreadable: false)
          errors = without_done(item, errors) if @database_offsets && !attempt.begun?
          return give_back(item) if errors.empty?

          at, error = errors.first
          unreadable = unreadable ? errors.keys.compact : []
          topic.failure_handler.handler_raised(item, attempt, error, at:, unreadable:)
        end

        # Filters and deserializers get messages before the database says which of them are done:
        # that is asked only if one raises. Returns the errors of the others.
        def without_done(item, errors)
          return errors if errors.each_value.any?(OffsetsFailed)

          position = @database_offsets.position(item)
          last = [position - 1, item.slice.last_offset].min
          @scheduler.mark(item, last) if last >= item.slice.first_offset
          errors.reject { |offset, _| offset && offset < position }
        rescue OffsetsFailed => e
          { nil => e }
        end

        # Nothing has failed: what isn't done is tried again.
        def give_back(item)
          @outputs.abort_batch
          @completion.keep_rest(item)
          @node.in_flight(nil)
        end

        # The handler doesn't get messages for which `filter:` is false. An exception of the filter
        # counts as one of the handler.
        def filter(topic, item, attempt)
          topic.key_extractor&.raise_again(item, attempt.batch)
          return unless topic.filter

          kept = attempt.batch.select { |message| topic.filter.call(message) }
          attempt.filter(kept) unless kept.size == attempt.slice.size
        end

        def deserialize(topic, attempt)
          return unless topic.deserializer

          attempt.narrow(topic.deserializer.call(attempt.batch))
        end

        def run_handler(item, attempt)
          size = attempt.slice.size
          if @database_offsets && (size.positive? || item.partition.database_offset.nil?)
            @database_offsets.process(item, attempt) { run_in_transaction(item, attempt) }
          elsif size.positive?
            call_handler(item, attempt)
          end
        end

        # Returns the last offset that is done, once its output messages are written; nil: none is.
        def run_in_transaction(item, attempt)
          call_handler(item, attempt) if attempt.slice.size.positive?
          return if attempt.requested

          last = attempt.ended_at ? attempt.last_done : item.last_offset
          return if last < item.slice.first_offset

          @outputs.end_batch(item.partition, last)
          last
        end

        def call_handler(item, attempt)
          ownership = PartitionOwnership.new(node: @node, partition: item.partition,
                                             consumer: @consumer, scheduler: @scheduler,
                                             lease: @lease, asks: !@transactional)
          item.partition.with_attempt(attempt) do
            next unless attempt.owned?(ownership)

            label = profile_label(item.partition, attempt.topic)
            Swarm::Profiling::Label.with(label) { @metrics.time(attempt.slice) { handle(attempt) } }
          end
        ensure
          attempt.detach
        end

        # What `skep profile` tells this handler's samples apart by.
        def profile_label(partition, topic)
          @labels[topic] ||= begin
            options = partition.options
            handler = options.respond_to?(:handler) ? options.handler : @handler
            place = handler.source_location&.join(":") if handler.respond_to?(:source_location)
            Swarm::Profiling::Label.number({ "topic" => topic, "handler" => place }.compact)
          end
        end

        # (Within a database transaction, which a `throw` might commit.)
        def handle(attempt)
          attempt.tracing = @tracing
          UserCode.call do
            next @handler.call(attempt.batch, @node) unless @tracing

            @tracing.batch(attempt.slice) { @handler.call(attempt.batch, @node) }
          end
        end

        def conclude(topic, item, attempt)
          @metrics.clock_ahead = attempt.clock_ahead if attempt.clock_ahead
          requested = attempt.requested
          if requested then topic.failure_handler.pause_or_seek(item, requested)
          elsif attempt.ended_at
            @completion.batch_ended_early(item, attempt.last_done)
          else batch_done(item, attempt)
          end
        end

        def batch_done(item, attempt)
          filtered = attempt.filtered
          @metrics.count(item.slice, :filtered, filtered) if filtered.positive?
          handled = attempt.slice.size.positive?
          tried, offset, units = attempt.tried(item.marked), item.slice.last_offset, item.units
          return unless @completion.batch_done(item)
          return @completion.recovered(item, offset, &units) unless handled

          @completion.succeeded(item, tried, offset, &units)
        end
      end
    end
  end
end
