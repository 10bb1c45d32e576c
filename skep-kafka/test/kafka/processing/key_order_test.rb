# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "support/fakes"

module Skep
  module Kafka
    # Which messages workers may take, by their keys.
    class KeyOrderTest < ::Skep::TestCase
      test "takes a worker's share of messages, of keys that no other item has, in order" do
        order = order(threads: 2)
        put(order, %w[a b a c b a])
        first, second = take(order), take(order)
        assert_equal [%w[a0 a2 a5], %w[b1 b4]], [labels(first), labels(second)]
        assert_equal %w[c3], labels(take(order))
        assert_nil order.take
      end

      test "a key's later messages wait for its work item" do
        order = order(threads: 1)
        put(order, %w[a b])
        item = take(order)
        put(order, %w[a c a], from: 2)
        assert_equal %w[c3], labels(take(order))
        assert_nil order.take
        order.release(item)
        assert_equal %w[a2 a4], labels(take(order))
      end

      test "takes the messages first that have waited for their key" do
        order = order(threads: 1, limit: 1)
        put(order, %w[a])
        item = take(order)
        put(order, %w[a b], from: 1)
        order.release(item)
        assert_equal %w[a1], labels(take(order))
        assert_equal %w[b2], labels(take(order))
      end

      test "messages without a key wait for no other" do
        order = order(threads: 4)
        put(order, [nil] * 4)
        slices = Array.new(4) { take(order).slice }
        assert_equal([[0], [1], [2], [3]], slices.map { |slice| slice.messages.map(&:offset) })
      end

      test "uses the keys that it is given" do
        order = order(threads: 2)
        messages = put(order, %w[a b]) { |some| some.map { |message| message.key.ord % 2 } }
        assert_equal messages, take(order).slice.messages + take(order).slice.messages
        put(order, %w[a c], from: 2) { |some| some.map { |message| message.key.ord % 2 } }
        assert_nil order.take
      end

      test "reads no more than `max_out_of_order` messages beyond the lowest unfinished one" do
        order = order(threads: 1, limit: 3, max_out_of_order: 6)
        assert_equal 3, order.room
        put(order, %w[slow a b])
        assert_equal 0, order.room # three messages wait already
        slow = take(order)
        assert_equal 3, order.room
        put(order, %w[slow slow slow], from: 3)
        assert_equal 0, order.room
        assert_predicate order, :blocked?
        @tracker.done(slow.slice, 2)
        assert_equal 3, order.room
        assert_equal 3, @tracker.position
        refute_predicate order, :blocked?
      end

      test "messages that the last owner has done count for `max_out_of_order`" do
        order = order(threads: 1, limit: 3, max_out_of_order: 6)
        put(order, %w[slow])
        slow = take(order)
        text = Processing::CommitMetadata.write(1, done: "1111", epoch: 0)
        @tracker.restore(Processing::CommitMetadata.read(text, 1))
        assert_empty @tracker.without_done(messages(%w[a] * 4, 1))
        assert_equal 1, order.room
        put(order, %w[a], from: 5)
        finish(order, take(order), [])
        assert_equal 0, order.room
        finish(order, slow, [])
        assert_equal [3, 6], [order.room, @tracker.position]
      end

      test "has no room beyond a limit of memory" do
        order = order(threads: 1)
        put(order, %w[a], bytes: 16 << 20)
        item = take(order)
        assert_equal 0, order.room
        @tracker.done(item.slice, 0)
        assert_equal 100, order.room
      end

      test "messages that wait for a retry don't hold the memory of what was read beside them" do
        order = order(threads: 1)
        put(order, %w[a b a c], bytes: 16 << 20)
        item = take(order)
        put(order, %w[a d], from: 4, bytes: 16 << 20)
        finish(order, other = take(order), [])
        assert_equal %w[d5], labels(other)
        assert_equal 0, order.room # of the first read, nothing is done

        item.split_failed_key(0)
        wait, others = item.parts
        finish(order, others, [])
        wait.failed(0)
        order.await_retry(wait)
        assert_equal [%w[a0 a2], 100], [labels(wait), order.room]
        finish(order, wait, seen = [])
        put(order, %w[e], from: 6)
        assert_equal [%w[a0 a2], %w[a4 e6], 4], [seen, labels(take(order)), @tracker.position]
      end

      test "takes each message once, and those of a key in order, in random runs" do
        random = Random.new(3)
        order = order(threads: 3, limit: 20, max_out_of_order: 60)
        out, seen, offset = [], [], 0
        until seen.size == 1_000 && out.empty?
          room = [order.room, 1_000 - offset].min
          put(order, Array.new(room) { %w[a b c d e].sample(random:) }, from: offset)
          offset += room
          out << take(order) if order.any?
          next unless random.rand < 0.5 && out.any?

          finish(order, out.delete_at(random.rand(out.size)), seen)
        end
        assert_equal (0...1_000).to_a, seen.map { |one| one[1..].to_i }.sort
        seen.group_by { |one| one[0] }.each_value do |of_key|
          assert_equal of_key.sort_by { |one| one[1..].to_i }, of_key
        end
        assert_equal 1_000, @tracker.position
      end

      private

      def order(threads:, limit: 100, max_out_of_order: 1_000)
        reader = Processing::PartitionReader.new(Fakes::PartitionQueue.new, "t", 0)
        @tracker = Processing::DoneOffsets.new(reader)
        Processing::KeyOrder.new(@tracker, limit:, threads:, max_out_of_order:)
      end

      def put(order, keys, from: 0, bytes: 1)
        messages = messages(keys, from)
        keys = keys.map.with_index(from) { |key, offset| key || offset }
        order.put(messages, block_given? ? yield(messages) : keys, bytes)
        messages
      end

      def messages(keys, from)
        keys.map.with_index(from) { |key, offset| Message.new("t", 0, offset, key, nil, 0, {}) }
      end

      def take(order)
        messages, keys = order.take
        Processing::WorkItem.new(nil, [Processing::Slice.new("t", 0, messages)], keys)
      end

      def finish(order, item, seen)
        seen.concat(labels(item))
        @tracker.done(item.slice, item.slice.last_offset)
        order.release(item)
      end

      def labels(item) = item.slice.messages.map { |message| "#{message.key}#{message.offset}" }
    end
  end
end
