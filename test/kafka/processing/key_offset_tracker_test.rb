# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    class KeyOffsetTrackerTest < ::Skep::TestCase
      def setup
        super
        @progress = Processing::KeyOffsetTracker.new
        @progress.open([10, 11, 14], bytes: 300) # 12 and 13 are no messages
      end

      test "has no position before anything is done" do
        assert_nil @progress.position
        assert_equal [3, 300], [@progress.ahead, @progress.bytes]
      end

      test "the position is the lowest unfinished offset" do
        @progress.done(11)
        assert_equal 10, @progress.position
        @progress.done(10)
        assert_equal 14, @progress.position
        @progress.done(14)
        assert_equal 15, @progress.position
        @progress.open([20], bytes: 1)
        assert_equal 20, @progress.position
      end

      test "counts what is done behind the lowest unfinished offset" do
        assert_equal 2, @progress.done_beyond # 12 and 13
        @progress.done(11)
        assert_equal 3, @progress.done_beyond
        @progress.done(10)
        assert_equal 0, @progress.done_beyond
        @progress.done(14)
        assert_equal 0, @progress.done_beyond
        assert_equal 0, Processing::KeyOffsetTracker.new.done_beyond
      end

      test "skips offsets without messages once all before them is done" do
        @progress.skip_to(17)
        assert_nil @progress.position
        [10, 14].each { |offset| @progress.done(offset) }
        assert_equal 11, @progress.position
        refute_predicate @progress, :clear?
        @progress.done(11)
        assert_equal 17, @progress.position
        @progress.skip_to(16) # a lower offset changes nothing
        assert_equal 17, @progress.position
        @progress.skip_to(20)
        assert_equal 20, @progress.position
      end

      test "says which offsets are done from one on, as far as it has read" do
        @progress.done(11)
        assert_equal "01110", @progress.done_from(10)
        assert_equal ["110", "0", "", "011"],
                     [@progress.done_from(12), @progress.done_from(14), @progress.done_from(20),
                      @progress.done_from(10, limit: 3)]
      end

      test "the position goes back with the log" do
        @progress.done(10)
        @progress.open([7, 8], bytes: 1) # truncated, and written again
        assert_equal 7, @progress.position
        [7, 8].each { |offset| @progress.done(offset) }
        assert_equal 11, @progress.position
      end

      test "skip_to sets the position if nothing is open" do
        progress = Processing::KeyOffsetTracker.new
        progress.skip_to(5)
        assert_equal 5, progress.position
      end

      test "a message that is done twice counts once" do
        2.times { @progress.done(10) }
        assert_equal [11, 300], [@progress.position, @progress.bytes]
      end

      test "ahead is how many messages were read ahead, exact to within one read" do
        @progress.open([15, 16], bytes: 20)
        @progress.done(15)
        assert_equal 5, @progress.ahead
        [10, 11, 14].each { |offset| @progress.done(offset) }
        assert_equal 2, @progress.ahead
        @progress.done(16)
        assert_equal 0, @progress.ahead
      end

      test "the memory of a read is freed when its last message is done" do
        @progress.open([15], bytes: 20)
        @progress.done(15)
        assert_equal 300, @progress.bytes
        [14, 11, 10].each { |offset| @progress.done(offset) }
        assert_equal 0, @progress.bytes
      end

      test "has the right position for any order, with gaps" do
        random = Random.new(7)
        offsets = (1..2_000).select { random.rand < 0.7 }
        progress = Processing::KeyOffsetTracker.new
        offsets.each_slice(97) { |some| progress.open(some, bytes: 1) }
        left = offsets.dup
        offsets.shuffle(random:).each do |offset|
          progress.done(offset)
          left.delete(offset)
          assert_equal left.first || offsets.last + 1, progress.position
        end
        assert_equal [0, 0], [progress.ahead, progress.bytes]
      end
    end
  end
end
