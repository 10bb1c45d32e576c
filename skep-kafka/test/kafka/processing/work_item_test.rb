# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # Which batches of a work item are tried, and how often they have failed.
    class WorkItemTest < ::Skep::TestCase
      test "counts failures of a batch of one as failures of that message" do
        item = item(%w[a])
        [0, nil].each { |offset| item.failed(offset) }
        assert_equal 2, item.failures.number
      end

      test "parts keep the time of the first failure if it isn't known which one failed" do
        item = item(%w[a b c])
        item.failed(nil, 7.0)
        item.split_failed_key(nil)
        parts = item.parts
        parts.first.split
        parts.first.next_slice
        assert_equal [7.0, 7.0], parts.map { |one| one.failures.since }
      end

      test "keys split off from the failed one have no time of a failure" do
        item = item(%w[a b c])
        item.failed(0, 7.0)
        item.split_failed_key(0)
        assert_equal [7.0, nil], item.parts.map { |one| one.failures.since }
      end

      test "keys behind a message that has failed alone before don't wait for its backoff" do
        item = item(%w[a b c a])
        item.isolate { |message| message.offset == 1 }
        item.next_slice
        item.failed(1)
        item.split_failed_key(1)
        item.back_off(60)
        waiting, others = item.parts
        assert_equal [[1], [2, 3], nil], [waiting.offsets, others.offsets, others.retry_at]
      end

      test "continues after the mark, without failures" do
        item = item(%w[a a a])
        2.times { item.failed(1) }
        assert_equal 0, item.drop_marked
        assert_equal 2, item.failures.count
        item.mark(1)
        assert_equal 2, item.drop_marked
        assert_equal [[2], 0, nil], [offsets(item), item.failures.count, item.marked]
        item.mark(2)
        assert_equal 1, item.drop_marked
        assert_predicate item, :done?
      end

      test "tries messages one by one once split" do
        item = item(%w[a b])
        item.split
        assert_equal [0], offsets(item)
        item.next_slice
        assert_equal [1], offsets(item)
      end

      test "its end offset counts for its last batch, and for an item without messages" do
        item = Processing::WorkItem.new(nil, [slice(%w[a b])], end_offset: 5)
        assert_equal 4, item.last_offset
        item.split
        assert_equal 0, item.last_offset
        item.next_slice
        assert_equal 4, item.last_offset
        item.drop
        assert_nil item.end_offset
        assert_equal 6, Processing::WorkItem.new(nil, [], {}, end_offset: 7).last_offset
      end

      test "splits off other keys than the one that failed" do
        item = item(%w[a b a c])
        item.failed(2)
        item.back_off(60, beside: item.split_failed_key(2))
        here, off = item.parts
        assert_equal [[0, 2], [1, 3]], [offsets(here), offsets(off)]
        assert_equal [%w[a], %w[b c]], [here, off].map { |one| one.keys.values.uniq }
        assert_equal [1, 0], [here, off].map { |one| one.failures.count }
        assert_equal here.retry_at.round, off.retry_at.round
        assert_equal [item], item.parts
      end

      test "keys that are split off inherit how long nothing has succeeded" do
        item = item(%w[a b c])
        item.failed(0, 7.0)
        item.back_off(60, awaits_success: true, beside: item.split_failed_key(0))
        here, off = item.parts
        assert_equal [7.0, 7.0], [here, off].map { |one| one.failures.outage_since }
        assert_equal [here.retry_at - 60] * 2, [here, off].map(&:awaiting)
        here.hold
        off.back_off(1)
        assert_equal [nil, nil], [here, off].map(&:awaiting)
      end

      test "splits off half of its keys if it isn't known which one failed" do
        item = item(%w[a b a c d])
        item.failed(nil)
        item.split_failed_key(nil)
        here, off = item.parts
        assert_equal [[0, 1, 2], [3, 4]], [offsets(here), offsets(off)]
        assert_equal [0, 0], [here, off].map { |one| one.failures.count }
      end

      test "settles a failure of one key: only its messages are tried one by one" do
        item = item(%w[a b a])
        assert_equal [0, 2], settle(item, 2, :one_by_one).messages.map(&:offset)
        here, off = item.parts
        assert_equal [[0], [1], nil], [offsets(here), offsets(off), off.retry_at]
      end

      test "others wait only if the first message has failed, or if it isn't known which one" do
        [[0, true], [1, false], [nil, true]].each do |offset, wait|
          item = item(%w[a b])
          settle(item, offset, :retry, seconds: 60)
          here, off = item.parts
          assert_equal [false, wait], [here.retry_at.nil?, !off.retry_at.nil?], offset.inspect
        end
      end

      test "an error at a marked message splits nothing off" do
        item = item(%w[a b])
        item.failed(0)
        settle(item, nil, :continue)
        assert_equal [[item], nil], [item.parts, item.retry_at]
      end

      test "splits off keys of which all messages are done" do
        item = item(%w[a b a])
        item.isolate { |message| message.offset.zero? }
        item.next_slice
        assert_equal [item], item.parts
        item.mark(1)
        item.drop_marked
        here, over = item.parts
        assert_equal [[[2], %w[a]], [nil, %w[b]]],
                     [[offsets(here), here.keys.values.uniq], [over.slice, over.keys.values]]
      end

      test "splits nothing off if it has one key, or isn't ordered by key" do
        [item(%w[a a]), Processing::WorkItem.new(nil, [slice(%w[a b])])].each do |item|
          item.split_failed_key(nil)
          item.split_failed_key(1)
          assert_equal [item], item.parts
          assert_equal [0, 1], offsets(item)
        end
      end

      test "splits nothing off while its messages are in several batches" do
        item = item(%w[a b c])
        item.isolate { |message| message.offset == 2 }
        item.split_failed_key(0)
        assert_equal [item], item.parts
      end

      private

      def item(keys)
        Processing::WorkItem.new(nil, [slice(keys)], keys.each_with_index.to_h { |k, n| [n, k] })
      end

      def settle(item, offset, action, **more)
        attempt = item.record(Processing::Attempt.new(item.slice), IOError.new, offset)
        item.failed(offset)
        item.settle(attempt, Failure::RetryPolicy::Decision.new(action:, **more))
      end

      def offsets(item) = item.slice.messages.map(&:offset)

      def slice(keys)
        messages = keys.map.with_index { |key, n| Message.new("t", 0, n, key, nil, 0, {}) }
        Processing::Slice.new("t", 0, messages)
      end
    end
  end
end
