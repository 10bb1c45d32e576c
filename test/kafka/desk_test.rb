# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # The desk alone: partitions are stand-ins without a client behind them.
    class DeskTest < ::KafkaCase
      # What the desk asks of a partition.
      Stub = Struct.new(:id, :key, :state, :rung, :retry_at, :revoked, :progress, :more, :gathering,
                        keyword_init: true) do
        def busy? = state == :busy
        def more? = more
        def gathering? = gathering
        def done(batch) = self.progress = [*key, batch]
        def close = self.state = :closed
      end

      def setup
        super
        @desk = Desk.new
      end

      def teardown
        @desk.close
        @desk.clear
        super
      end

      test "gives a partition to one at a time" do
        add(1)
        partition = take
        assert_equal 1, partition.id
        assert_nil take
        @desk.bell.ring(1)
        @desk.listen
        assert_nil take
        @desk.free(partition)
        assert_equal 1, take.id
      end

      test "wakes the one who listens for a new partition" do
        add(1)
        refute_nil @desk.bell.io.wait_readable(0)
      end

      test "lets a partition rest until its time, while others go on" do
        add(1)
        add(2)
        first = take
        first.retry_at = OS.now + 0.05
        @desk.free(first)
        assert_equal 2, take.id
        @desk.bell.ring(1)
        @desk.listen
        assert_nil take
        assert_in_delta OS.now, @desk.next_deadline, 0.1
        until (partition = take)
          @desk.bell.io.wait_readable(@desk.next_deadline - OS.now) if @desk.next_deadline > OS.now
          @desk.listen
        end
        assert_same first, partition
      end

      test "wakes what gathers messages when more have come" do
        add(1, gathering: true)
        partition = take
        partition.retry_at = OS.now + 60
        @desk.free(partition)
        @desk.bell.ring(1)
        @desk.listen
        assert_equal 1, take.id
      end

      test "takes a partition back when its batch is done, and tells how far it came" do
        add(1)
        partition = take
        revoked = Thread.new { @desk.revoke([["t", 1]], 5) }
        Thread.new { @desk.settle(partition, 42) { true } and @desk.free(partition) }.join
        assert_equal [["t", 1, 42]], revoked.value
        assert_equal :closed, partition.state
        assert_empty @desk.keys
      end

      test "gives up a partition whose batch takes too long, and then doesn't note it" do
        add(1)
        partition = take
        assert_empty @desk.revoke([["t", 1]], 0.01)
        refute(@desk.settle(partition, 42) { flunk "isn't ours any more" })
        @desk.free(partition)
        assert_equal :closed, partition.state
      end

      test "holds back a partition that came again until the old batch is through" do
        add(1)
        old = take
        @desk.revoke([old.key], 0)
        add(2, key: old.key)
        assert_nil take
        @desk.free(old)
        assert_equal 2, take.id
      end

      test "has nothing more for anybody once closed" do
        waiting = Thread.new { @desk.take }
        add(1)
        assert_equal 1, waiting.value.id
        waiting = Thread.new { @desk.take }
        @desk.close
        assert_nil waiting.value
        add(2)
        assert_nil @desk.take
      end

      private

      def add(id, key: ["t", id], **more) = @desk.add(Stub.new(id:, key:, **more))
      def take = @desk.take(wait: false)
    end
  end
end
