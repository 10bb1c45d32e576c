# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # What is to be tried of a strand, and how often that failed.
    class StrandTest < ::Skep::TestCase
      test "counts what fails alone as the failures of one message" do
        strand = strand(%w[a])
        [0, nil].each { |offset| strand.failed(offset) }
        assert_equal 2, strand.failures.number
      end

      test "remembers of each part of a batch that failed when that was, if it isn't known which" do
        strand = strand(%w[a b c])
        strand.failed(nil, 7.0)
        strand.divide(nil)
        parts = strand.parts
        parts.first.split
        parts.first.pass
        assert_equal [7.0, 7.0], parts.map { |one| one.failures.since }
      end

      test "remembers nothing of the sort of those that part from the one that failed" do
        strand = strand(%w[a b c])
        strand.failed(0, 7.0)
        strand.divide(0)
        assert_equal [7.0, nil], strand.parts.map { |one| one.failures.since }
      end

      test "goes on after what is marked, as if nothing had failed" do
        strand = strand(%w[a a a])
        2.times { strand.failed(1) }
        assert_equal 0, strand.cut
        assert_equal 2, strand.failures.count
        strand.marked = 1
        assert_equal 2, strand.cut
        assert_equal [[2], 0, nil], [offsets(strand), strand.failures.count, strand.marked]
        strand.marked = 2
        assert_equal 1, strand.cut
        assert_predicate strand, :over?
      end

      test "tries one message after the other once split" do
        strand = strand(%w[a b])
        strand.split
        assert_equal [0], offsets(strand)
        strand.pass
        assert_equal [1], offsets(strand)
      end

      test "is done with more than its messages at its last batch, and with nothing else" do
        batch = Batch.new("t", 0, (0..1).map { |n| Message.new("t", 0, n, nil, nil, 0, {}) })
        strand = Processing::WorkItem.new(nil, [batch], reach: 5)
        assert_equal 4, strand.last_offset
        strand.split
        assert_equal 0, strand.last_offset
        strand.pass
        assert_equal 4, strand.last_offset
        strand.drop
        assert_nil strand.reach
        assert_equal 6, Processing::WorkItem.new(nil, [], {}, reach: 7).last_offset
      end

      test "lets other keys go their own way than the one that failed" do
        strand = strand(%w[a b a c])
        strand.failed(2)
        strand.divide(2)
        strand.rest(60)
        here, off = strand.parts
        assert_equal [[0, 2], [1, 3]], [offsets(here), offsets(off)]
        assert_equal [%w[a], %w[b c]], [here, off].map { |one| one.keys.values.uniq }
        assert_equal [1, 0], [here, off].map { |one| one.failures.count }
        assert_equal here.retry_at.round, off.retry_at.round
        assert_equal [strand], strand.parts
      end

      test "those that part from one that failed inherit how long nothing has succeeded" do
        strand = strand(%w[a b c])
        strand.failed(0, 7.0)
        strand.divide(0)
        strand.rest(60, awaiting: 8.0)
        here, off = strand.parts
        assert_equal [7.0, 7.0], [here, off].map { |one| one.failures.outage_since }
        assert_equal [8.0, 8.0], [here, off].map(&:awaiting)
        here.pause
        off.rest(1)
        assert_equal [nil, nil], [here, off].map(&:awaiting)
      end

      test "lets half of its keys go where it isn't known which one failed" do
        strand = strand(%w[a b a c d])
        strand.failed(nil)
        strand.divide(nil)
        here, off = strand.parts
        assert_equal [[0, 1, 2], [3, 4]], [offsets(here), offsets(off)]
        assert_equal [0, 0], [here, off].map { |one| one.failures.count }
      end

      test "rests alone the next time, once others go their own way" do
        strand = strand(%w[a b])
        strand.divide(0)
        _, off = strand.parts
        strand.divide(0)
        strand.rest(60)
        assert_nil off.retry_at
      end

      test "rests alone once it is tried message by message" do
        strand = strand(%w[a b])
        strand.divide(nil)
        _, off = strand.parts
        strand.split # instead of a rest
        strand.rest(60)
        assert_nil off.retry_at
      end

      test "lets go of a key of which nothing is left to do" do
        strand = strand(%w[a b a])
        strand.isolate { |message| message.offset.zero? }
        strand.pass
        assert_equal [strand], strand.parts
        strand.marked = 1
        strand.cut
        here, over = strand.parts
        assert_equal [[[2], %w[a]], [nil, %w[b]]],
                     [[offsets(here), here.keys.values.uniq], [over.batch, over.keys.values]]
      end

      test "stays whole where there is one key, or where it doesn't go by keys" do
        [strand(%w[a a]), Processing::WorkItem.new(nil, [batch(%w[a b])])].each do |strand|
          strand.divide(nil)
          strand.divide(1)
          assert_equal [strand], strand.parts
          assert_equal [0, 1], offsets(strand)
        end
      end

      test "stays whole while its messages are tried apart" do
        strand = strand(%w[a b c])
        strand.isolate { |message| message.offset == 2 }
        strand.divide(0)
        assert_equal [strand], strand.parts
      end

      private

      def strand(keys)
        Processing::WorkItem.new(nil, [batch(keys)], keys.each_with_index.to_h { |k, n| [n, k] })
      end

      def offsets(strand) = strand.batch.map(&:offset)

      def batch(keys)
        Batch.new("t", 0, keys.map.with_index { |k, n| Message.new("t", 0, n, k, nil, 0, {}) })
      end
    end
  end
end
