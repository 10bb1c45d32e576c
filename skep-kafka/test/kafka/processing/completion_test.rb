# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"
require "kafka/support/fake_node"
require "support/fakes"

module Skep
  module Kafka
    # What Completion commits for a batch, and for records that aren't delivered.
    class CompletionTest < ::Skep::TestCase
      FAILED = TransactionFailed.new(step: "commit_transaction", code: -185, text: "timed out")
      private_constant :FAILED

      def teardown
        @scheduler&.clear
        @metrics&.clear
        super
      end

      test "stores the offset of an item without messages" do
        finish(atomic: false)
        assert_equal [["t", 0, 7], [["t", 0, 7]]], [@store.stored, @scheduler.committable_offsets]
      end

      test "a transactional source commits that offset by a transaction" do
        finish(atomic: true)
        assert_equal [6, nil], [@outputs.sealed, @store.stored]
        assert_equal [["t", 0, 7]], @scheduler.committable_offsets
      end

      test "the offset stays if the transaction fails or the partition is lost" do
        finish(atomic: true, answer: FAILED)
        assert @outputs.aborted
        assert_equal [["kafka_commit_failed", "t", 0]], @events
        finish(atomic: true, answer: false)
        assert_empty @scheduler.committable_offsets
      end

      test "stores nothing for a partition that is lost" do
        finish(atomic: false) { revoke }
        assert_nil @store.stored
      end

      test "commits a batch with the undelivered records after it" do
        outputs = finish(atomic: true, batch: Message.new("t", 0, 3, nil, nil, 0, {}))
        assert_equal 6, outputs.sealed
        assert_equal [["t", 0, 7]], @scheduler.committable_offsets
      end

      test "reports redelivery of a lost partition unless its transaction is committed" do
        message = Message.new("t", 0, 3, nil, nil, 0, {})
        [false, true].each do |atomic|
          finish(atomic:, batch: message) { revoke }
          assert_equal !atomic, @events.any? { |name,| name == "kafka_revoked_in_flight" }
        end
      end

      # Another thread's exception, as that of Timeout.timeout, comes in while it writes.
      class Interrupted < Fakes::Outputs
        attr_reader :begun

        def begin_batch = @begun = true

        def end_batch(...)
          thread = Thread.current
          Thread.new { thread.raise(IOError, "too late") }.join
          super
        end
      end
      private_constant :Interrupted

      [false, true].each do |atomic|
        test "a timeout of the handler doesn't interrupt a mark, atomic: #{atomic}" do
          set_up(node = fake_node, Interrupted.new(atomic, true))
          item = next_item(Message.new("t", 0, 3, nil, nil, 0, {}))
          evidence = Failure::TopicEvidence.new(nil, 1, replaceable: false)
          completion = completion(node, evidence: { item.partition.options => evidence },
                                        present: { item.partition.options =>
                                                   Failure::PresentFailures.new(@report) })

          assert_raises(IOError) { completion.mark(item, 3) }
          assert_equal [3, true], [@outputs.sealed, @outputs.begun]
          assert item.marked?(3)
          assert_equal [["t", 0, 4]], @scheduler.committable_offsets
        ensure
          node&.close
        end
      end

      # A consumer whose commits go out while no partition can begin a seek, or not.
      OrderedConsumer = Struct.new(:scheduler, :ordered) do
        def wait(_seconds) = 0
        def begin_commit(offsets) = commit(offsets, nil) && self

        def commit(_offsets, _seconds)
          self.ordered = scheduler.instance_variable_get(:@lock).owned?
          0
        end
      end
      private_constant :OrderedConsumer

      test "a commit around a suspect goes out before that of a seek which begins after it" do
        node = fake_node
        set_up(node, Fakes::Outputs.new(false, true))
        consumer = OrderedConsumer.new(@scheduler)
        Processing::Completion.new(node:, outputs: @outputs, poison: nil, report: @report,
                                   consumer:, scheduler: @scheduler, metrics: @metrics,
                                   evidence: {}, present: {}).commit
        assert consumer.ordered
      ensure
        node&.close
      end

      private

      def revoke = @scheduler.finish_revocation(@scheduler.begin_revocation([["t", 0]]))

      def finish(atomic:, answer: true, batch: nil)
        set_up(node = fake_node, Fakes::Outputs.new(atomic, answer))
        completion = completion(node)
        item = next_item(batch)
        yield if block_given?
        batch ? completion.batch_done(item) : completion.skip_to(item)
        node.close
        @outputs
      end

      def completion(node, evidence: {}, present: {})
        Processing::Completion.new(
          node:, outputs: @outputs, poison: Failure::PoisonDetector.new(node.crash_suspects),
          report: @report, consumer: @store, scheduler: @scheduler, metrics: @metrics,
          evidence:, present:
        )
      end

      def fake_node
        @events = []
        FakeNode.new { |name, facts| @events << [name, *facts.values_at(:topic, :partition)] }
      end

      def set_up(node, outputs)
        teardown
        @store, @outputs = Fakes::OffsetStore.new, outputs
        @scheduler = Processing::Scheduler.new(offset_store: (@store unless outputs.transactional?))
        options = Config::SourceOptions.new(kafka: { "bootstrap.servers": "none" }, group: "g",
                                            topics: "t")
        @report = Metrics::EventReporter.new(node, options.settings)
        @metrics = Metrics::ConsumerMetrics.new(node:, scheduler: @scheduler, consumer: @store,
                                                group: "g")
      end

      # Returns a work item of a partition whose position is 7 after the read.
      def next_item(message)
        log = Testing::FakeLog.new([*message])
        positions = [0, 7]
        log.define_singleton_method(:position) { positions.shift }
        @scheduler.add(partition(log))
        @scheduler.next_item
      end

      def partition(log)
        Processing::AssignedPartition.new(
          Processing::PartitionReader.new(log, "t", 0), id: 1, seeking: nil,
          wakeup_pipe: @scheduler.wakeup_pipe, options: Config::SourceOptions.new(max_messages: 10)
        )
      end
    end
  end
end
