# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"
require "kafka/support/fake_child"

module Skep
  module Kafka
    # What is committed of a batch, and of records that aren't given out.
    class LedgerTest < ::Skep::TestCase
      # Where a transaction's offset goes, unless it fails.
      class Outputs
        attr_reader :sealed, :aborted

        def initialize(atomic, answer)
          @atomic, @answer = atomic, answer
        end

        def atomic? = @atomic
        def abort = @aborted = true

        def seal(_, offset)
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
        @tools&.metrics&.clear
        super
      end

      test "stores what a partition reaches without a message" do
        reach(atomic: false)
        assert_equal [["t", 0, 7], [["t", 0, 7]]], [@store.stored, @scheduler.done]
      end

      test "commits it by a transaction where its messages' are" do
        reach(atomic: true)
        assert_equal [6, nil], [@outputs.sealed, @store.stored]
        assert_equal [["t", 0, 7]], @scheduler.done
      end

      test "leaves it to the next message where that fails, or the partition went elsewhere" do
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

      test "commits a batch with what is behind it" do
        outputs = reach(atomic: true, batch: Message.new("t", 0, 3, nil, nil, 0, {}))
        assert_equal 6, outputs.sealed
        assert_equal [["t", 0, 7]], @scheduler.done
      end

      test "tells that messages come again only where their transaction isn't through" do
        message = Message.new("t", 0, 3, nil, nil, 0, {})
        [false, true].each do |atomic|
          reach(atomic:, batch: message) { @scheduler.revoke([["t", 0]]) }
          assert_equal !atomic, @told.any? { |name,| name == "kafka_revoked_in_hand" }
        end
      end

      private

      def reach(atomic:, answer: true, batch: nil)
        set_up(child = fake_child, Outputs.new(atomic, answer))
        completion = Processing::Completion.new(@tools, child,
                                            Failure::PoisonDetector.new(child.caution), @outputs)
        item = taken(batch)
        yield if block_given?
        batch ? completion.finish(item) : completion.reach(item)
        child.close
        @outputs
      end

      def fake_child
        @told = []
        FakeChild.new { |name, facts| @told << [name, *facts.values_at(:topic, :partition)] }
      end

      def set_up(child, outputs)
        teardown
        @scheduler, @store, @outputs = Processing::Scheduler.new, Store.new, outputs
        options = Config::SourceOptions.new(kafka: { "bootstrap.servers": "none" }, group: "g",
                                            topics: "t")
        @tools = Processing::Tools.new(options:, child:, scheduler: @scheduler, consumer: @store,
                           report: Metrics::EventReporter.new(child, options.settings))
        @tools.metrics = Metrics::ConsumerMetrics.new(@tools)
      end

      # A work item of a partition that reaches 7.
      def taken(message)
        log = Testing::FakeLog.new([*message])
        positions = [0, 7]
        log.define_singleton_method(:position) { positions.shift }
        @scheduler.add(partition(log))
        @scheduler.take
      end

      def partition(log)
        Processing::AssignedPartition.new(
          log, "t", 0, id: 1, wakeup_pipe: @scheduler.wakeup_pipe, limit: 10, max_wait: 0,
                       order: -> { Processing::PartitionOrder.new(limit: 10) }, seeking: nil
        )
      end
    end
  end
end
