# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    class DoneOffsetsTest < ::Skep::TestCase
      def setup
        super
        @tracker = tracker()
        @tracker.open([10, 11, 14], bytes: 300) # 12 and 13 are no messages
      end

      test "in order, the position is the offset that it is moved to" do
        tracker = tracker()
        assert_nil tracker.position
        tracker.move_to(11)
        assert_equal [11, 0, ""], [tracker.position, tracker.done_beyond, tracker.done_from(11)]
        tracker.skip_to(15)
        tracker.skip_to(14) # a lower offset changes nothing
        assert_equal 15, tracker.position
        tracker.move_to(3) # the log was truncated
        assert_equal 3, tracker.position
      end

      test "begins at the offset of a seek" do
        tracker = Processing::DoneOffsets.new(nil, start: 40)
        assert_equal [40, 0, ""], [tracker.position, tracker.done_beyond, tracker.done_from(40)]
      end

      test "has no position before anything is done" do
        assert_nil @tracker.position
        assert_equal [3, 300], [@tracker.ahead, @tracker.bytes]
      end

      test "the position is the lowest unfinished offset" do
        done(11)
        assert_equal 10, @tracker.position
        done(10)
        assert_equal 14, @tracker.position
        done(14)
        assert_equal 15, @tracker.position
        @tracker.open([20], bytes: 1)
        assert_equal 20, @tracker.position
      end

      test "counts what is done behind the lowest unfinished offset" do
        assert_equal 2, @tracker.done_beyond # 12 and 13
        done(11)
        assert_equal 3, @tracker.done_beyond
        done(10)
        assert_equal 0, @tracker.done_beyond
        done(14)
        assert_equal 0, @tracker.done_beyond
        assert_equal 0, tracker.done_beyond
      end

      test "skips offsets without messages once all before them is done" do
        @tracker.skip_to(17)
        assert_nil @tracker.position
        [10, 14].each { |offset| done(offset) }
        assert_equal 11, @tracker.position
        refute_predicate @tracker, :clear?
        done(11)
        assert_equal 17, @tracker.position
        @tracker.skip_to(16) # a lower offset changes nothing
        assert_equal 17, @tracker.position
        @tracker.skip_to(20)
        assert_equal 20, @tracker.position
      end

      test "says which offsets are done from one on, as far as it has read" do
        done(11)
        assert_equal "01110", @tracker.done_from(10)
        assert_equal ["110", "0", "", "011"],
                     [@tracker.done_from(12), @tracker.done_from(14), @tracker.done_from(20),
                      @tracker.done_from(10, limit: 3)]
      end

      test "the position goes back with the log" do
        done(10)
        @tracker.open([7, 8], bytes: 1) # truncated, and written again
        assert_equal 7, @tracker.position
        [7, 8].each { |offset| done(offset) }
        assert_equal 11, @tracker.position
      end

      test "skip_to sets the position if nothing is open" do
        tracker = tracker()
        tracker.skip_to(5)
        assert_equal 5, tracker.position
      end

      test "a message that is done twice counts once" do
        2.times { done(10) }
        assert_equal [11, 300], [@tracker.position, @tracker.bytes]
      end

      test "ahead is how many messages were read ahead, exact to within one read" do
        @tracker.open([15, 16], bytes: 20)
        done(15)
        assert_equal 5, @tracker.ahead
        [10, 11, 14].each { |offset| done(offset) }
        assert_equal 2, @tracker.ahead
        done(16)
        assert_equal 0, @tracker.ahead
      end

      test "the memory of a read is freed when its last message is done" do
        @tracker.open([15], bytes: 20)
        done(15)
        assert_equal 300, @tracker.bytes
        [14, 11, 10].each { |offset| done(offset) }
        assert_equal 0, @tracker.bytes
      end

      test "has the right position for any order, with gaps" do
        random = Random.new(7)
        offsets = (1..2_000).select { random.rand < 0.7 }
        tracker = tracker()
        offsets.each_slice(97) { |some| tracker.open(some, bytes: 1) }
        left = offsets.dup
        offsets.shuffle(random:).each do |offset|
          done(offset, tracker)
          left.delete(offset)
          assert_equal left.first || offsets.last + 1, tracker.position
        end
        assert_equal [0, 0], [tracker.ahead, tracker.bytes]
      end

      test "a part of a slice can be done before the rest" do
        slice = slice(10, 11, 14)
        assert_equal [10, 11], @tracker.done(slice, 13)
        assert_equal 14, @tracker.position
        assert_equal [14], @tracker.done(slice, 14, after: 13)
        assert_equal 15, @tracker.position
        assert_equal [], @tracker.done(slice, 14, after: 14)
        assert_equal 15, @tracker.position
      end

      private

      def tracker = Processing::DoneOffsets.new(nil)
      def done(offset, tracker = @tracker) = tracker.done(slice(offset), offset)

      def slice(*offsets)
        messages = offsets.map { |offset| Message.new("t", 0, offset, nil, nil, 0, {}) }
        Processing::Slice.new("t", 0, messages)
      end
    end
  end
end
