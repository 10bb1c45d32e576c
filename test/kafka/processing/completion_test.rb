# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"
require "kafka/support/fake_child"

module Skep
  module Kafka
    # What is committed of a batch, and of records that aren't given out.
    class CompletionTest < ::Skep::TestCase
      # Where a transaction's offset goes, unless it fails.
      class Outputs
        attr_reader :sealed, :aborted

        def initialize(atomic, answer)
          @atomic, @answer = atomic, answer
        end

        def transactional? = @atomic
        def abort_batch = @aborted = true

        def await_deliveries(_, offset)
          @sealed = offset
          @answer.is_a?(Exception) ? raise(@answer) : @answer
        end
      end

      # What is stored to be committed.
      class Store
        attr_reader :stored

        def store(*place) = @stored = place
      end

      FAILED = TransactionFailed.new(step: "commit_transaction", code: -185, text: "timed out")
      private_constant :FAILED

      def teardown
        @scheduler&.clear
        @metrics&.clear
        super
      end

      test "stores the offset of an item without messages" do
        reach(atomic: false)
        assert_equal [["t", 0, 7], [["t", 0, 7]]], [@store.stored, @scheduler.done]
      end

      test "a transactional source commits that offset by a transaction" do
        reach(atomic: true)
        assert_equal [6, nil], [@outputs.sealed, @store.stored]
        assert_equal [["t", 0, 7]], @scheduler.done
      end

      test "leaves it to the next message if the transaction fails or the partition is lost" do
        reach(atomic: true, answer: FAILED)
        assert @outputs.aborted
        assert_equal [["kafka_commit_failed", "t", 0]], @told
        reach(atomic: true, answer: false)
        assert_empty @scheduler.done
      end

      test "stores nothing for a partition that is lost" do
        reach(atomic: false) { @scheduler.revoke([["t", 0]]) }
        assert_nil @store.stored
      end

      test "commits a batch with the undelivered records after it" do
        outputs = reach(atomic: true, batch: Message.new("t", 0, 3, nil, nil, 0, {}))
        assert_equal 6, outputs.sealed
        assert_equal [["t", 0, 7]], @scheduler.done
      end

      test "reports redelivery of a lost partition unless its transaction is committed" do
        message = Message.new("t", 0, 3, nil, nil, 0, {})
        [false, true].each do |atomic|
          reach(atomic:, batch: message) { @scheduler.revoke([["t", 0]]) }
          assert_equal !atomic, @told.any? { |name,| name == "kafka_revoked_in_hand" }
        end
      end

      private

      def reach(atomic:, answer: true, batch: nil)
        set_up(child = fake_child, Outputs.new(atomic, answer))
        completion = Processing::Completion.new(
          child:, outputs: @outputs, poison: Failure::PoisonDetector.new(child.caution),
          report: @report, consumer: @store, scheduler: @scheduler, metrics: @metrics
        )
        item = taken(batch)
        yield if block_given?
        batch ? completion.batch_done(item) : completion.skip_to(item)
        child.close
        @outputs
      end

      def fake_child
        @told = []
        FakeChild.new { |name, facts| @told << [name, *facts.values_at(:topic, :partition)] }
      end

      def set_up(child, outputs)
        teardown
        @store, @outputs = Store.new, outputs
        @scheduler = Processing::Scheduler.new(offset_store: (@store unless outputs.transactional?))
        options = Config::SourceOptions.new(kafka: { "bootstrap.servers": "none" }, group: "g",
                                            topics: "t")
        @report = Metrics::EventReporter.new(child, options.settings)
        @metrics = Metrics::ConsumerMetrics.new(child:, scheduler: @scheduler, consumer: @store,
                                                group: "g")
      end

      # A work item of a partition that reaches 7.
      def taken(message)
        log = Testing::FakeLog.new([*message])
        positions = [0, 7]
        log.define_singleton_method(:position) { positions.shift }
        @scheduler.add(partition(log))
        @scheduler.next_item
      end

      def partition(log)
        Processing::AssignedPartition.new(
          Processing::PartitionReader.new(log, "t", 0), id: 1, seeking: nil,
          wakeup_pipe: @scheduler.wakeup_pipe, options: Config::SourceOptions.new(batch: 10)
        )
      end
    end
  end
end
