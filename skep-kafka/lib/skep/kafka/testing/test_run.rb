# frozen_string_literal: true

# Runs a source's handler over messages without a broker (TestRun), and says what became of them
# (TestResult). The worker, the scheduler and the partitions are those of a node
# (GroupMember.build); the consumer and the producer (fake_cluster.rb) and the node are fakes.
module Skep
  module Kafka
    module Testing
      # The outcome of a test run.
      #
      #   result.done           # => [Message], the handler returned, or marked them
      #   result.retried        # => [{ offset:, error:, attempt:, … }], each time it raised
      #   result.dead_letters   # => [ProducedMessage], written to the dead letter topic
      #   result.dead_lettered  # => [Message], the originals of these
      #   result.filtered       # => [Message], which `filter:` kept from the handler
      #   result.pending        # => [Message], which would be delivered again
      #   result.blocked        # => { ["orders", 0] => 300.2 }, seconds of waits for retries
      #   result.committed      # => { ["orders", 0] => 42 }, where another node would continue
      #   result.node          # => the FakeNode
      #   result.clean?         # is everything done, at the first attempt?
      TestResult = Struct.new(:done, :retried, :dead_letters, :dead_lettered, :filtered, :pending,
                              :committed, :node, :blocked, keyword_init: true) do
        # Returns true if everything is done, at the first attempt.
        def clean? = [retried, dead_letters, pending].all?(&:empty?)

        def inspect
          counts = %i[done retried dead_letters filtered pending].map do |name|
            "#{name}=#{self[name].size}"
          end
          "#<Skep::Kafka::Testing::TestResult #{counts.join(" ")}>"
        end
      end

      # Processes messages on the calling thread, with the worker, scheduler and partitions of a
      # node. Backoffs are over at once.
      #
      #   TestRun.new(source, messages, node:, retries: 10, handler:).run   # => TestResult
      class TestRun
        def initialize(source, messages, node:, retries:, handler:, topic: nil)
          @blocked = Hash.new(0.0) # by topic and partition
          @options = source.__options.timeless(->(key, seconds) { @blocked[key] += seconds })
          wrong = source.errors - [*Librdkafka::Bindings.missing_library]
          raise ConfigurationError.new(sentences: wrong) if wrong.any?

          @node, @handler = node, handler
          attempts = @options.all.map { |one| one.max_attempts.to_i }.max
          @limit = retries + (2 * attempts) # as batches, then message by message
          @messages = make(messages, topic)
          @handed, @returned = {}, {}
          @tries = Hash.new(0)
        end

        # Processes until everything is done, or nothing moves any more.
        def run
          set_up
          step until @node.quiet? || @over || stuck?
          result
        ensure
          @scheduler&.close
          @callbacks&.close
          @metrics&.tap(&:close)&.clear
          @scheduler&.clear
        end

        private

        def make(messages, topic)
          topic ||= @options.topics.find { |name| !name.start_with?("^") }
          factory = MessageFactory.new(topic:)
          made = messages.flat_map do |one|
            one.is_a?(Batch) ? one.messages : [factory.message(one)]
          end
          return made if made.all?(&:topic)

          raise ArgumentError, "the source reads patterns: give the messages a topic, or topic:"
        end

        def set_up
          DatabaseOffsets.__forget(@options.group) if @options.offsets == :database
          places = @messages.group_by { |one| [one.topic, one.partition] }
          @logs = places.transform_values { |some| FakeLog.new(some) }
          build
          @logs.each.with_index(1) do |(key, log), id|
            partition = partition(key, log, id)
            @callbacks&.assigned(partition)
            @scheduler.add(partition)
          end
          @metrics.rebalanced(@logs.keys, @logs.keys)
        end

        # Connects the same objects as a node does, with a consumer, outputs and a dead letter queue
        # that need no cluster.
        def build(threads: 1)
          report = Metrics::EventReporter.new(@node, @options.settings, failures_every: 0)
          @callbacks = Consumer::AssignmentCallbacks.for(@options, @node, report)
          @consumer = consumer
          @dead_letters = dead_letter_queue
          pipeline = Consumer::GroupMember.build(
            options: @options, node: @node, consumer: @consumer, dead_letter_queue: @dead_letters,
            report:,
            lease: Processing::MembershipLease.new(Float::MAX / 1e10),
            outputs:, handler: method(:handle), threads:
          )
          @scheduler, @metrics = pipeline.scheduler, pipeline.metrics
          @workers = pipeline.workers
          @worker = @workers.first
        end

        def consumer = FakeConsumer.new(@logs)
        def outputs = FakeProducers.new(@node.produced, @options)
        def dead_letter_queue = FakeDeadLetterQueue.new(@options.settings, @node)

        def partition(key, log, id, **more)
          reader = Processing::PartitionReader.new(log, *key)
          Processing::AssignedPartition.new(
            reader, id:, wakeup_pipe: @scheduler.wakeup_pipe, options: @options.for(key.first),
                    seeking: ->(place) { log.seek(place) }, **more
          )
        end

        def step
          @scheduler.wake_ready
          item = @worker.next_item(wait: false)
          return @worker.work(item) if item

          deadline = @scheduler.next_deadline
          deadline&.finite? ? @scheduler.wake_ready(deadline) : @over = true # or it is paused
        end

        def handle(batch, node)
          attempt = batch.__attempt # skep sees if a handler uses the batch's `messages`
          places = attempt.slice.messages.map { |one| place(one) }
          @tries[places.first] += 1
          record(places, @handed)
          @handler.call(batch, node)
          record(places, @returned) unless attempt.requested
        end

        def record(places, in_all) = places.each { |place| in_all[place] = true }

        # Without a dead letter topic a batch would be retried for ever, also one whose filter or
        # deserializer raises. A handler may also pause or seek back for ever.
        def stuck?
          failed = @node.events_named(:handler_failed).last
          @tries.any? { |_, times| times > @limit } || failed.to_h[:attempt].to_i > @limit
        end

        def place(message) = [message.topic, message.partition, message.offset]

        def result
          positions = @scheduler.committable_offsets.to_h { |entry| [entry.first(2), entry[2]] }
          dead_lettered = @dead_letters.messages
          dead = dead_lettered.to_h { |one| [place(one), true] }
          past, pending = (@messages - dead_lettered).partition { |one| past?(one, positions) }
          done, filtered = past.partition { |one| @handed.key?(place(one)) }
          TestResult.new(done:, filtered:, pending: pending.reject { |one| dead.key?(place(one)) },
                         retried: @node.events_named(:handler_failed),
                         dead_letters: @dead_letters.written,
                         dead_lettered:, committed: positions, node: @node, blocked:)
        end

        # How long a node would have waited with the messages of each partition.
        def blocked
          @node.events_named(:handler_failed).each_with_object(@blocked.dup) do |one, seconds|
            seconds[one.values_at(:topic, :partition)] += one[:retry_in].to_f
          end
        end

        def past?(message, positions)
          position = positions[[message.topic, message.partition]]
          @returned.key?(place(message)) || (position && message.offset < position)
        end
      end
    end
  end
end
