# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    class SliceTest < ::Skep::TestCase
      def setup
        messages = (10..12).map { |n| Message.new("orders", 3, n, "k", "v#{n}", 0, {}) }
        @slice = Processing::Slice.new("orders", 3, messages)
      end

      test "isolate splits the messages into parts, in order" do
        pieces = @slice.isolate { |message| message.offset > 10 }
        assert_equal %w[orders/3/10-10 orders/3/11-11 orders/3/12-12], pieces.map(&:label)

        pieces = @slice.isolate { |message| message.offset == 12 }
        assert_equal %w[orders/3/10-11 orders/3/12-12], pieces.map(&:label)
      end

      test "counts messages up to an offset, also where offsets are left out" do
        assert_equal [0, 0, 1, 3, 3], [0, 9, 10, 12, 99].map { |offset| @slice.count_to(offset) }
        two = @slice.part { |message| message.offset != 11 }
        assert_equal [0, 1, 1, 2, 2], [9, 10, 11, 12, 99].map { |offset| two.count_to(offset) }
      end

      test "after returns the messages after an offset, or nil" do
        assert_equal "orders/3/12-12", @slice.after(11).label
        assert_nil @slice.after(12)
      end

      test "split returns slices of one message" do
        assert_equal [1, 1, 1], @slice.split.map(&:size)
      end
    end
  end
end
