# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # Which messages may be worked on, by their keys.
    class KeyringTest < ::Skep::TestCase
      test "gives out shares, each of its own keys, in order" do
        ring = ring(threads: 2)
        put(ring, %w[a b a c b a])
        first, second = take(ring), take(ring)
        assert_equal [%w[a0 a2 a5], %w[b1 b4]], [told(first), told(second)]
        assert_equal %w[c3], told(take(ring))
        assert_nil ring.take
      end

      test "keeps a key's later messages until its strand is through" do
        ring = ring(threads: 1)
        put(ring, %w[a b])
        item = take(ring)
        put(ring, %w[a c a], from: 2)
        assert_equal %w[c3], told(take(ring))
        assert_nil ring.take
        ring.release(item)
        assert_equal %w[a2 a4], told(take(ring))
      end

      test "has those first that have waited for their key" do
        ring = ring(threads: 1, limit: 1)
        put(ring, %w[a])
        item = take(ring)
        put(ring, %w[a b], from: 1)
        ring.release(item)
        assert_equal %w[a1], told(take(ring))
        assert_equal %w[b2], told(take(ring))
      end

      test "lets what has no key wait for nobody" do
        ring = ring(threads: 4)
        put(ring, [nil] * 4)
        assert_equal([[0], [1], [2], [3]], Array.new(4) { take(ring).batch.map(&:offset) })
      end

      test "goes by other keys where it is told them" do
        ring = ring(threads: 2)
        messages = put(ring, %w[a b]) { |some| some.map { |message| message.key.ord % 2 } }
        assert_equal messages, take(ring).batch.messages + take(ring).batch.messages
        put(ring, %w[a c], from: 2) { |some| some.map { |message| message.key.ord % 2 } }
        assert_nil ring.take
      end

      test "reads no further than so many beyond the lowest unfinished" do
        ring = ring(threads: 1, limit: 3, ahead: 6)
        assert_equal 3, ring.room
        put(ring, %w[slow a b])
        assert_equal 0, ring.room # that much waits already
        slow = take(ring)
        assert_equal 3, ring.room
        put(ring, %w[slow slow slow], from: 3)
        assert_equal 0, ring.room
        assert_predicate ring, :held?
        ring.done(slow.batch, 2)
        assert_equal 3, ring.room
        assert_equal 3, ring.position
        refute_predicate ring, :held?
      end

      test "holds no more in memory than some" do
        ring = ring(threads: 1)
        put(ring, %w[a], bytes: 16 << 20)
        item = take(ring)
        assert_equal 0, ring.room
        ring.done(item.batch, 0)
        assert_equal 100, ring.room
      end

      test "notes part of a batch, and the rest later" do
        ring = ring(threads: 1)
        put(ring, %w[a b c d])
        batch = take(ring).batch
        ring.done(batch, 1)
        assert_equal 2, ring.position
        ring.done(batch, 3, after: 1)
        assert_equal 4, ring.position
        ring.done(batch, 3, after: 3)
        assert_equal 4, ring.position
      end

      test "gives each message out once, and each key's in order, whatever happens between" do
        random = Random.new(3)
        ring = ring(threads: 3, limit: 20, ahead: 60)
        out, seen, offset = [], [], 0
        until seen.size == 1_000 && out.empty?
          room = [ring.room, 1_000 - offset].min
          put(ring, Array.new(room) { %w[a b c d e].sample(random:) }, from: offset)
          offset += room
          out << take(ring) if ring.any?
          through(ring, out.delete_at(random.rand(out.size)), seen) if random.rand < 0.5 && out.any?
        end
        assert_equal (0...1_000).to_a, seen.map { |one| one[1..].to_i }.sort
        seen.group_by { |one| one[0] }.each_value do |of_key|
          assert_equal of_key.sort_by { |one| one[1..].to_i }, of_key
        end
        assert_equal 1_000, ring.position
      end

      private

      def ring(threads:, limit: 100, ahead: 1_000)
        Processing::KeyOrder.new(limit:, threads:, ahead:)
      end

      def put(ring, keys, from: 0, bytes: 1, &ask)
        messages = keys.map.with_index(from) do |key, offset|
          Message.new("t", 0, offset, key, nil, 0, {})
        end
        ring.put(messages, ring.keys(messages, &ask), bytes:)
        messages
      end

      def take(ring)
        messages, keys = ring.take
        Processing::WorkItem.new(nil, [Batch.new("t", 0, messages)], keys)
      end

      def through(ring, item, seen)
        seen.concat(told(item))
        ring.done(item.batch, item.batch.last_offset)
        ring.release(item)
      end

      def told(item) = item.batch.map { |message| "#{message.key}#{message.offset}" }
    end
  end
end
