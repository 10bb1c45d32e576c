# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # What is next, and what rests before that.
    class RunQueueTest < ::Skep::TestCase
      Stub = Struct.new(:state, :retry_at, :revoked, :more, keyword_init: true) do
        def more? = more
        def partition = self
      end

      def setup
        super
        @wakeup_pipe = Librdkafka::WakeupPipe.new
        @queue = Processing::RunQueue.new(@wakeup_pipe)
      end

      def teardown
        @wakeup_pipe.close
        super
      end

      test "gives out what is ready, in that order" do
        one, two = stub(retry_at: 1.0), stub
        [one, two].each { |some| @queue.ready(some) }
        assert_equal [:ready, nil], [one.state, one.retry_at]
        assert_equal [one, two], Array.new(2) { @queue.pop }
        assert_empty @queue
      end

      test "lets rest until its time, and tells who listens" do
        one = stub(retry_at: 2.0)
        @queue.rest(one)
        assert_equal [:resting, 2.0], [one.state, @queue.deadline]
        assert @wakeup_pipe.io.wait_readable(0)
        @queue.over(1.0)
        assert_empty @queue
        @queue.over(2.0)
        assert_same one, @queue.pop
        assert_nil @queue.deadline
      end

      test "wakes what is idle or rests, once, if there is something to draw" do
        resting = stub(retry_at: 2.0, more: true)
        @queue.rest(resting)
        some = [resting, stub(state: :idle, more: true), stub(state: :idle, more: false),
                stub(state: :busy, more: true), stub(state: :idle, more: true, revoked: :asked)]
        2.times { some.each { |one| @queue.wake(one) } }
        assert_equal some.take(2), Array.new(2) { @queue.pop }
        assert_empty @queue
        assert_nil @queue.deadline
      end

      test "takes nothing once closed" do
        2.times { @queue.ready(stub) && @queue.close }
        assert_empty @queue
        assert_nil @queue.pop
      end

      private

      def stub(**facts) = Stub.new(**facts)
    end
  end
end
