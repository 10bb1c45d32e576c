# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    class Producer
      # A transactional source against the mock cluster, which answers transaction requests, and
      # fails them if a test asks for it. It returns aborted messages to read_committed consumers:
      # test/scenario/kafka/each_output_is_written_exactly_once.rb checks what consumers read.
      class TransactionalProducerTest < ::KafkaCase
        # API keys, and error codes.
        PRODUCE, OFFSET_FETCH, INIT_PRODUCER_ID, END_TXN, TXN_OFFSET_COMMIT = 0, 9, 22, 26, 28
        ILLEGAL_GENERATION, TRANSACTIONAL_ID_REFUSED, PRODUCER_FENCED = 22, 53, 90
        REQUEST_TIMED_OUT, METADATA_TOO_LARGE = 7, 12
        COORDINATOR_LOADING, GROUP_REFUSED = 14, 30
        private_constant :PRODUCE, :OFFSET_FETCH, :INIT_PRODUCER_ID, :END_TXN, :TXN_OFFSET_COMMIT,
                         :ILLEGAL_GENERATION, :TRANSACTIONAL_ID_REFUSED, :PRODUCER_FENCED,
                         :REQUEST_TIMED_OUT, :METADATA_TOO_LARGE, :COORDINATOR_LOADING,
                         :GROUP_REFUSED

        # The topic has one partition, which is processed at once. For an idle partition the metrics
        # query offsets, and these requests would get the errors that a test sets.
        def setup
          super
          broker(orders: 1, out: 1, dead: 1)
        end

        test "each thread commits its messages and offset in a transaction of its own" do
          @broker.create_topic("pairs", 2)
          feed("pairs", (0...40).map { |n| ["k", n.to_s, n % 2] })
          ids, there, go = Array.new(3) { Thread::Queue.new }
          pass_on(40, topics: "pairs", threads: 2) do |node, message|
            ids << node.producer.inspect[/test-\S+/]
            next unless message.offset.zero?

            go.close if (there << true).size == 2
            go.pop # otherwise one thread might process both partitions
          end

          assert_equal (0...40).map(&:to_s), payloads_of("out", 40).sort_by(&:to_i)
          host = Socket.gethostname
          assert_equal ["test-#{host}-0-1", "test-#{host}-0-2"],
                       Array.new(ids.size) { ids.pop }.uniq.sort
          assert_empty redelivered("pairs")
        end

        test "reads messages after the control record of a transaction" do
          %w[one two].each do |text|
            feed("orders", [["k", text, 0]])
            pass_on(1)
          end

          assert_equal %w[one two], payloads_of("out", 2)
        end

        test "a batch whose offset the group rejects is retried" do
          feed("orders", [["k", "one", 0]])
          @broker.fail_next(TXN_OFFSET_COMMIT, ILLEGAL_GENERATION)
          events = pass_on(2)

          assert_match(/The transaction failed at send_offsets_to_transaction \(.*generation/,
                       named(events, "handler_failed").first[:error])
          assert_equal [1], named(events, "processed").map { |facts| facts[:number] }
          assert_empty redelivered
        end

        test "commits no metadata any more once the group has refused it" do
          feed("orders", [["k", "one", 0]])
          @broker.fail_next(TXN_OFFSET_COMMIT, METADATA_TOO_LARGE)
          entries = []
          with_labels { with_entries(entries) { pass_on(2) } }

          assert_equal ["label", nil], entries.map { |entry| entry[4] }.first(2)
          assert_empty redelivered
        end

        test "a call with a retriable error is repeated" do
          feed("orders", [["k", "one", 0]])
          @broker.fail_next(END_TXN, COORDINATOR_LOADING)
          events = pass_on(1)

          assert_empty named(events, "handler_failed")
          assert_equal %w[one], payloads_of("out", 1)
        end

        test "a producer whose transactional.id was taken continues with another id" do
          feed("orders", [["k", "one", 0]])
          @broker.fail_next(END_TXN, PRODUCER_FENCED)
          events = pass_on(2)

          taken, = named(events, "kafka_transactional_id_taken")
          assert_equal "test-#{Socket.gethostname}-0-0", taken[:transactional_id]
          assert_match(/\A#{Regexp.escape(taken[:transactional_id])}-\h{8}\z/, taken[:now])
          assert_equal 1, named(events, "handler_failed").size
          assert_empty redelivered
        end

        test "a committed batch isn't processed again although its commit seemed to fail" do
          feed("orders", [["k", "one", 0], ["k", "two", 0]])
          @broker.fail_next(END_TXN, PRODUCER_FENCED)
          tries = []
          events = play({ transactional: true, max_messages: 1 }) do |batch, node|
            tries.concat(batch.payloads)
            node.producer.produce("out", batch.payloads.first)
            commit(1, node.producer) if tries.one?
            node.stop! if tries.size >= 2
          end

          assert_equal %w[one two], tries
          assert_equal 1, named(events, "kafka_transactional_id_taken").size
          assert_empty named(events, "handler_failed")
          assert_empty redelivered
        end

        test "a transaction that may be committed isn't aborted at the stop" do
          feed("orders", [["k", "one", 0], ["k", "two", 0]])
          events = play({ transactional: true, max_messages: 1 }) do |batch, node|
            next if batch.payloads == %w[one]

            @broker.fail_next(END_TXN, PRODUCER_FENCED)
            commit(2, node.producer) # committed, but the answer is an error
            @broker.fail_next(OFFSET_FETCH, GROUP_REFUSED)
            node.stop!
          end

          assert_equal 1, named(events, "handler_failed").size
          assert_empty redelivered
        end

        test "a mark fails if its transaction can't begin while the node stops" do
          feed("orders", [["k", "one", 0]])
          errors = []
          play({ transactional: true }) do |batch, node|
            discard(node.producer)
            @broker.fail_next(INIT_PRODUCER_ID, *[COORDINATOR_LOADING] * 1_000)
            node.time_left = 3
            node.stop!
            batch.mark(0)
          rescue StandardError => e
            errors << e
          end

          assert_equal [TransactionFailed], errors.map(&:class)
        end

        test "a mark commits a transaction, and a later failure is retried from there" do
          feed("orders", (0...3).map { |n| ["k", n.to_s, 0] })
          tries = []
          play({ transactional: true }) do |batch, node|
            tries << batch.payloads
            batch.each do |message|
              node.producer.produce("out", message.payload)
              raise IOError, "the disk is away" if tries.one? && message.payload == "1"

              batch.mark(message)
            end
            node.stop!
          end

          assert_equal [%w[0 1 2], %w[1 2]], tries
          assert_empty redelivered
        end

        test "a mark is kept although the next transaction can't begin" do
          feed("orders", (0...2).map { |n| ["k", n.to_s, 0] })
          tries = []
          events = play({ transactional: true }) do |batch, node|
            tries << batch.payloads
            batch.each do |message|
              fail_to_begin(node.producer) if tries.one?
              batch.mark(message)
            end
            node.stop!
          end

          assert_equal [%w[0 1], %w[1]], tries
          assert_match(/begin_transaction/, named(events, "handler_failed").first[:error])
        end

        test "a batch whose handler raises is retried" do
          feed("orders", [["k", "one", 0]])
          tries = 0
          events = pass_on(2) { raise IOError, "the disk is away" if (tries += 1) == 1 }

          assert_equal ["IOError: the disk is away"],
                       named(events, "handler_failed").map { |facts| facts[:error] }
          assert_empty redelivered
        end

        test "a handler that raises before its output is acknowledged gets another producer" do
          feed("orders", [["k", "one", 0]])
          @broker.fail_next(PRODUCE, REQUEST_TIMED_OUT) # librdkafka retries after retry.backoff.ms
          producers = []
          slowly = { "retry.backoff.ms": 5_000, "retry.backoff.max.ms": 5_000 }
          play({ transactional: true, producer: slowly }) do |_, node|
            producers << producer_of(node)
            node.producer.produce("out", "one")
            raise IOError, "the disk is away" if producers.one?

            node.stop!
          end

          assert_equal 2, producers.uniq.size
          assert_empty redelivered
        end

        test "a batch whose output is too large becomes a dead letter" do
          feed("orders", [["k", "one", 0], ["k", "large", 0], ["k", "two", 0]])
          stop = ->(name, _, node) { node.stop! if name == "dead_lettered" }
          more = { dead_letter_topic: "dead", max_attempts: 2,
                   producer: { "message.max.bytes": 9_000 } }
          events = pass_on(9, on_event: stop, **more) do |node, message|
            node.producer.produce("out", "x" * 10_000) if message.payload == "large"
          end

          assert_match(/too large/, named(events, "dead_lettered").first[:error])
          assert_equal %w[large], payloads_of("dead", 1)
          assert_equal %w[two], redelivered - %w[one]
        end

        test "only the handler of a batch can produce" do
          feed("orders", [["k", "one", 0]])
          kept = nil
          pass_on(1) { |node| kept = node.producer }

          error = assert_raises(NoTransaction) { kept.produce("out", "late") }
          assert_match(/while its handler processes a batch/, error.message)
        end

        test "a refused transactional.id raises an error with the command that grants it" do
          @broker.fail_next(INIT_PRODUCER_ID, TRANSACTIONAL_ID_REFUSED)
          error = assert_raises(AuthorizationError) { pass_on(1) }
          assert_match(/refuses transactional\.id test-.*-0-0 .*--transactional-id/, error.message)
        end

        test "a transactional source needs read_committed and order by partition" do
          kafka = { "bootstrap.servers": "b:1", "isolation.level": "read_uncommitted" }
          source = Source.new(kafka:, group: "g", topics: "t", transactional: true)
          assert_match(/transactional needs isolation\.level/, source.errors.join)
          source = Source.new(kafka: { "bootstrap.servers": "b:1" }, group: "g", topics: "t",
                                           transactional: true, ordered_by: :key)
          assert_match(/transactional needs ordered_by: :partition/, source.errors.join)
        end

        private

        # The embedded broker has no topic ids, with which commits are labelled.
        def with_labels(&block)
          create = Processing::DoneOffsets.method(:new)
          labelled = lambda do |*args, **options|
            create.call(*args, **options).tap do |one|
              one.define_singleton_method(:label) { |*| "label" }
            end
          end
          Processing::DoneOffsets.stub(:new, labelled, &block)
        end

        # Adds what transactions commit.
        def with_entries(entries, &block)
          make = Librdkafka::TopicPartitionList.method(:make)
          seen = lambda do |list, &within|
            entries << list.first if caller_locations(1, 6).to_s.include?("transactional_producer")
            make.call(list, &within)
          end
          Librdkafka::TopicPartitionList.stub(:make, seen, &block)
        end

        # Commits that offset, as another process might have done.
        def commit(offset, producer)
          # The broker accepts it only from a member.
          consumer = producer.instance_variable_get(:@consumer)
          assert_equal 0, consumer.commit([["orders", 0, offset]], 10)
        end

        def producer_of(node)
          node.producer.instance_variable_get(:@renewable_producer).producer
        end

        # Drops the producer's client, as after a failed init_transactions.
        def discard(producer)
          producer.abort_batch
          producer.send(:discard)
        end

        # Lets the next begin_batch fail.
        def fail_to_begin(producer)
          producer.define_singleton_method(:begin_batch) do
            singleton_class.remove_method(:begin_batch)
            raise TransactionFailed.new(step: "begin_transaction", code: -1, text: "fatal")
          end
        end

        # Copies messages to the topic out; stops the node after `count` messages, retries included.
        def pass_on(count, on_event: nil, **more)
          seen = Thread::Queue.new
          play({ transactional: true, **more }, on_event:) do |batch, node|
            batch.size.times { seen << true }
            node.stop! if seen.size >= count
            batch.each do |message|
              yield node, message if block_given?
              node.producer.produce("out", message.payload, key: message.key)
            end
          end
        end
      end
    end
  end
end
