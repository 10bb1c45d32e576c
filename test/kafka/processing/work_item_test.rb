# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # What is to be tried of a work item, and how often that failed.
    class StrandTest < ::Skep::TestCase
      test "counts what fails alone as the failures of one message" do
        item = item(%w[a])
        [0, nil].each { |offset| item.failed(offset) }
        assert_equal 2, item.failures.number
      end

      test "remembers of each part of a batch that failed when that was, if it isn't known which" do
        item = item(%w[a b c])
        item.failed(nil, 7.0)
        item.divide(nil)
        parts = item.parts
        parts.first.split
        parts.first.pass
        assert_equal [7.0, 7.0], parts.map { |one| one.failures.since }
      end

      test "remembers nothing of the sort of those that part from the one that failed" do
        item = item(%w[a b c])
        item.failed(0, 7.0)
        item.divide(0)
        assert_equal [7.0, nil], item.parts.map { |one| one.failures.since }
      end

      test "goes on after what is marked, as if nothing had failed" do
        item = item(%w[a a a])
        2.times { item.failed(1) }
        assert_equal 0, item.cut
        assert_equal 2, item.failures.count
        item.marked = 1
        assert_equal 2, item.cut
        assert_equal [[2], 0, nil], [offsets(item), item.failures.count, item.marked]
        item.marked = 2
        assert_equal 1, item.cut
        assert_predicate item, :over?
      end

      test "tries one message after the other once split" do
        item = item(%w[a b])
        item.split
        assert_equal [0], offsets(item)
        item.pass
        assert_equal [1], offsets(item)
      end

      test "is done with more than its messages at its last batch, and with nothing else" do
        batch = Batch.new("t", 0, (0..1).map { |n| Message.new("t", 0, n, nil, nil, 0, {}) })
        item = Processing::WorkItem.new(nil, [batch], reach: 5)
        assert_equal 4, item.last_offset
        item.split
        assert_equal 0, item.last_offset
        item.pass
        assert_equal 4, item.last_offset
        item.drop
        assert_nil item.reach
        assert_equal 6, Processing::WorkItem.new(nil, [], {}, reach: 7).last_offset
      end

      test "lets other keys go their own way than the one that failed" do
        item = item(%w[a b a c])
        item.failed(2)
        item.divide(2)
        item.rest(60)
        here, off = item.parts
        assert_equal [[0, 2], [1, 3]], [offsets(here), offsets(off)]
        assert_equal [%w[a], %w[b c]], [here, off].map { |one| one.keys.values.uniq }
        assert_equal [1, 0], [here, off].map { |one| one.failures.count }
        assert_equal here.retry_at.round, off.retry_at.round
        assert_equal [item], item.parts
      end

      test "those that part from one that failed inherit how long nothing has succeeded" do
        item = item(%w[a b c])
        item.failed(0, 7.0)
        item.divide(0)
        item.rest(60, awaiting: 8.0)
        here, off = item.parts
        assert_equal [7.0, 7.0], [here, off].map { |one| one.failures.outage_since }
        assert_equal [8.0, 8.0], [here, off].map(&:awaiting)
        here.pause
        off.rest(1)
        assert_equal [nil, nil], [here, off].map(&:awaiting)
      end

      test "lets half of its keys go where it isn't known which one failed" do
        item = item(%w[a b a c d])
        item.failed(nil)
        item.divide(nil)
        here, off = item.parts
        assert_equal [[0, 1, 2], [3, 4]], [offsets(here), offsets(off)]
        assert_equal [0, 0], [here, off].map { |one| one.failures.count }
      end

      test "rests alone the next time, once others go their own way" do
        item = item(%w[a b])
        item.divide(0)
        _, off = item.parts
        item.divide(0)
        item.rest(60)
        assert_nil off.retry_at
      end

      test "rests alone once it is tried message by message" do
        item = item(%w[a b])
        item.divide(nil)
        _, off = item.parts
        item.split # instead of a rest
        item.rest(60)
        assert_nil off.retry_at
      end

      test "lets go of a key of which nothing is left to do" do
        item = item(%w[a b a])
        item.isolate { |message| message.offset.zero? }
        item.pass
        assert_equal [item], item.parts
        item.marked = 1
        item.cut
        here, over = item.parts
        assert_equal [[[2], %w[a]], [nil, %w[b]]],
                     [[offsets(here), here.keys.values.uniq], [over.batch, over.keys.values]]
      end

      test "stays whole where there is one key, or where it doesn't go by keys" do
        [item(%w[a a]), Processing::WorkItem.new(nil, [batch(%w[a b])])].each do |item|
          item.divide(nil)
          item.divide(1)
          assert_equal [item], item.parts
          assert_equal [0, 1], offsets(item)
        end
      end

      test "stays whole while its messages are tried apart" do
        item = item(%w[a b c])
        item.isolate { |message| message.offset == 2 }
        item.divide(0)
        assert_equal [item], item.parts
      end

      private

      def item(keys)
        Processing::WorkItem.new(nil, [batch(keys)], keys.each_with_index.to_h { |k, n| [n, k] })
      end

      def offsets(item) = item.batch.map(&:offset)

      def batch(keys)
        Batch.new("t", 0, keys.map.with_index { |k, n| Message.new("t", 0, n, k, nil, 0, {}) })
      end
    end
  end
end
