# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # Whose a partition is, and who came before it.
    class AssignmentTest < ::Skep::TestCase
      Stub = Struct.new(:id, :key, :busy, :revoked, :in_doubt,
                        :progress, :state, :retry_at, keyword_init: true) do
        def busy? = busy
        def in_doubt? = in_doubt
        def more? = true
        def partition = self
        def close = self.state = :closed
      end

      def setup
        super
        @wakeup_pipe = Librdkafka::WakeupPipe.new
        @queue = Processing::RunQueue.new(@wakeup_pipe)
        @assignment = Processing::Assignment.new(@queue, @wakeup_pipe)
      end

      def teardown
        @wakeup_pipe.close
        @assignment.clear
        super
      end

      test "forgets at once what is taken back and in nobody's hand" do
        one, two = add(1, progress: ["t", 1, 5]), add(2)
        assert_equal [["t", 1, 5]], revoke(one)
        assert_equal [:closed, :lost, nil], [one.state, one.revoked, @assignment[1]]
        assert_equal [two], @assignment.held
      end

      test "gives nothing to commit where a transaction may do so" do
        one, = add(1, progress: ["t", 1, 5], in_doubt: true), add(2, progress: ["t", 2, 7])
        assert_equal [["t", 2, 7]], @assignment.progress
        assert_empty revoke(one)
      end

      test "keeps what is in hand beyond its time, and wakes its successor when that is over" do
        old = add(1, busy: true)
        add(2, busy: true)
        revoke(old)
        young = add(3, key: old.key, state: :idle)
        assert @assignment.behind?(young)
        refute @assignment.behind?(old)
        @assignment.freed(old)
        assert_equal [nil, 3], [old.state, @assignment.size]
        old.busy = false
        @assignment.freed(old)
        assert_same young, @queue.pop
        refute @assignment.behind?(young)
        assert_equal [:closed, 2], [old.state, @assignment.size]
      end

      test "gives everything back at the end" do
        some = [add(1, busy: true), add(2)]
        @assignment.clear
        assert_equal [:closed] * 2, some.map(&:state)
        assert_empty @assignment.held
      end

      private

      def add(id, key: ["t", id], **facts)
        Stub.new(id:, key:, **facts).tap { |partition| @assignment.add(partition) }
      end

      def revoke(partition) = @assignment.take_back(@assignment.ask_back([partition.key]))
    end
  end
end
