# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # A node's work with nothing around it: the same worker, scheduler and partitions, on the
      # calling thread. Where the node would wait for a backoff, that one is over at once.
      #
      #   TestRun.new(source, messages, child:, retries: 10, handler:).run   # => TestResult
      class TestRun
        def initialize(source, messages, child:, retries:, handler:)
          @options = source.__options.timeless
          wrong = source.errors - [*Librdkafka::Bindings.missing_library]
          raise ConfigurationError.new(sentences: wrong) if wrong.any?

          @child, @handler = child, handler
          @limit = retries + (2 * @options.attempts.to_i) # whole, and message by message
          @messages = stock(messages)
          @handed, @returned = {}, {}
          @tries = Hash.new(0)
        end

        def run #: () -> TestResult
          set_up
          turn until @child.quiet? || @over || stuck?
          outcome
        ensure
          @scheduler&.close
          @tools&.metrics&.tap(&:close)&.clear
          @scheduler&.clear
        end

        private

        def stock(messages)
          topic = @options.topics.find { |name| !name.start_with?("^") }
          stock = MessageFactory.new(topic:)
          messages.flat_map { |one| one.is_a?(Batch) ? one.messages : [stock.message(one)] }
        end

        def set_up
          places = @messages.group_by { |one| [one.topic, one.partition] }
          @shelves = places.transform_values { |some| FakeLog.new(some) }
          @consumer = FakeConsumer.new(@shelves)
          @tools = tools
          @worker = Processing::Worker.new(@tools, method(:hand), thread: 0)
          @shelves.each.with_index(1) { |(key, shelf), id| @scheduler.add(stand(key, shelf, id)) }
          @tools.metrics.rebalanced(@shelves.keys, @shelves.keys)
        end

        def tools
          tools = Processing::Tools.new(options: @options, child: @child, consumer: @consumer, exclusive_lock: Processing::SharedExclusiveLock.new,
                            report: Metrics::EventReporter.new(@child, @options.settings), scheduler: @scheduler = Processing::Scheduler.new,
                            dead_letter: @grave = FakeDeadLetterQueue.new(@options, @child), leeway: Processing::Leeway.new,
                            lease: Processing::MembershipLease.new(Float::MAX / 1e10))
          tools.metrics = Metrics::ConsumerMetrics.new(tools)
          tools.outputs = FakeProducers.new(@child.produced, @options.transactional)
          tools
        end

        def stand(key, shelf, id)
          Processing::AssignedPartition.new(shelf, *key, id:, wakeup_pipe: @scheduler.wakeup_pipe, limit: @options.batch, max_wait: 0,
                                 order: @options.method(:order),
                                 seeking: ->(_topic, _number, place) { shelf.seek(place) })
        end

        def turn
          @scheduler.listen
          taken = @worker.take(wait: false)
          return @worker.work(taken) if taken

          over_at = @scheduler.next_deadline
          over_at ? @scheduler.listen(over_at) : @over = true
        end

        def hand(batch, child)
          @tries[place(batch.messages.first)] += 1
          note(batch, @handed)
          @handler.call(batch, child)
          note(batch, @returned) unless batch.__wish
        end

        def note(batch, places) = batch.messages.each { |one| places[place(one)] = true }

        # A batch would be tried for ever, where there is no dead letter; or paused, or sought.
        def stuck? = @tries.any? { |_, times| times > @limit }

        def place(message) = [message.topic, message.partition, message.offset]

        def outcome
          positions = @scheduler.done.to_h { |topic, number, offset| [[topic, number], offset] }
          buried = @grave.messages.to_h { |one| [place(one), true] }
          past, left = (@messages - @grave.messages).partition { |one| past?(one, positions) }
          done, filtered = past.partition { |one| @handed.key?(place(one)) }
          TestResult.new(done:, filtered:, left: left.reject { |one| buried.key?(place(one)) },
                      retried: @child.told(:handler_failed), dead_letters: @grave.written,
                      buried: @grave.messages, committed: positions, child: @child)
        end

        def past?(message, positions)
          position = positions[[message.topic, message.partition]]
          @returned.key?(place(message)) || (position && message.offset < position)
        end
      end
    end
  end
end
