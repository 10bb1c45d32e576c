# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"

module Skep
  module Kafka
    # What may be drawn of a partition, and when; its messages lie on a shelf.
    class PartitionTest < ::Skep::TestCase
      # Of librdkafka's queue what a partition sees.
      class Shelf < Array
        def read(limit) = shift(limit).then { |some| [Haul.new(some), [], some.size] }
      end

      def setup
        super
        @bell = Bell.new
        @shelf = Shelf.new
        @next = 0
      end

      def teardown
        @bell.close
        super
      end

      test "reads what rang while there was no room for it, once there is" do
        partition = partition { Keyring.new(limit: 10, threads: 2, ahead: 100) }
        put("a", "b", bytes: Keyring.const_get(:BYTES) / 2)
        first = draw(partition)
        put("c")
        partition.rung = true
        second = draw(partition)
        refute_predicate partition, :more?
        [first, second].each { |strand| partition.done(strand, strand.batch.last_offset) }
        assert_predicate partition, :more?
        assert_equal [2], draw(partition).batch.map(&:offset)
        refute_predicate partition, :more?
      end

      test "reads what rang before it went elsewhere" do
        partition = partition { Sequence.new(limit: 10) }
        put("a", "b")
        strand = draw(partition)
        put("c", "d")
        partition.rung = true
        partition.seek(2)
        partition.release(strand)
        assert_nil draw(partition)
        assert_predicate partition, :more?
        assert_equal [2, 3], draw(partition).batch.map(&:offset)
      end

      private

      def partition(&order)
        Testing.const_get(:Stand)
               .new(@shelf, "t", 0, id: 1, bell: @bell, order:, limit: 10, max_wait: 0,
                    seeking: ->(_, _, place) { place })
      end

      def put(*keys, bytes: 1)
        keys.each do |key|
          @shelf << Message.new("t", 0, @next, key, "v" * bytes, -1, {})
          @next += 1
        end
      end

      # One turn of the desk's.
      def draw(partition)
        partition.begin_reading
        partition.read
        partition.draw
      end
    end
  end
end
