# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "skep/swarm"
require "kafka/support/fake_node"
require "support/fakes"

module Skep
  module Kafka
    # How a revocation ends a loop, and when the group is asked to confirm the membership.
    class PartitionOwnershipTest < ::Skep::TestCase
      def setup
        super
        @now = 0.0
        @lease = Processing::MembershipLease.new(3.0, clock: -> { @now })
        @part = Fakes::OwnedPartition.new(nil, ["orders", 0, 7])
        @node = FakeNode.new
        @scheduler = Processing::Scheduler.new
      end

      def teardown
        @node.close
        @scheduler.clear
        super
      end

      test "makes no request while the event loop runs" do
        3.times { (@now += 2.0) && @lease.renew }

        assert_predicate ownership, :confirmed?
        assert_empty @group.commits
      end

      test "asks the group until it answers once, after the process was stopped" do
        @now += 4.0
        @lease.renew # has no effect after so long a gap

        assert_predicate ownership(Librdkafka::ErrorCode::TIMED_OUT, 0), :confirmed?
        assert_predicate ownership, :confirmed?
        assert_equal [["orders", 0, 7]] * 2, @commits
      end

      test "isn't confirmed by a group that has assigned the partition to another member" do
        @now += 4.0

        refused = ownership(Librdkafka::ErrorCode::UNKNOWN_MEMBER_ID) { @part.revocation = :finished }
        refute_predicate refused, :confirmed?
      end

      test "isn't confirmed without an answer at a stop" do
        @now += 4.0

        refute_predicate ownership(Librdkafka::ErrorCode::TIMED_OUT) { @node.stop! }, :confirmed?
      end

      test "makes no request for a transactional source" do
        @now += 4.0

        assert_predicate ownership(transactional: true), :confirmed?
      end

      test "ends each after the current message once the partition is revoked" do
        owner = ownership
        seen = each_of(owner) { |message, _| @part.revocation = :begun if message.offset == 1 }

        assert_equal [[0, 1], 1, true], [seen, @attempt.ended_at, @batch.revoked?]
        assert_equal [0, 1], @batch.map(&:offset), "a second loop has the same messages"
      end

      test "ends each if the group doesn't confirm the membership after a long message" do
        refused = ownership(Librdkafka::ErrorCode::UNKNOWN_MEMBER_ID) { @part.revocation = :finished }
        seen = each_of(refused) do |message|
          @now += 4.0 if message.offset.zero?
          wait_readable_for(0.002)
        end

        assert_equal [[0], 0], [seen, @attempt.ended_at]
      end

      test "doesn't end a nested loop" do
        counts = []
        each_of(ownership) do |message|
          @part.revocation = :begun
          @attempt.end_early
          counts << [message.offset, @batch.count]
        end

        assert_equal [[0, 5]], counts
      end

      test "each yields nothing if the partition is lost before" do
        @part.revocation = :finished

        assert_equal [[], -1], [each_of(ownership), @attempt.ended_at]
      end

      private

      def ownership(*codes, transactional: false, &on_commit)
        @group = Fakes::CommittingConsumer.new(*codes, &on_commit)
        @commits = @group.commits if codes.any?
        Processing::PartitionOwnership.new(node: @node, partition: @part, consumer: @group,
                                           scheduler: @scheduler, lease: @lease,
                                           asks: !transactional)
      end

      # Returns the offsets that `each` yields.
      def each_of(owner)
        messages = (0...5).map { |offset| Message.new("orders", 0, offset, nil, nil, 0, {}) }
        @attempt = Processing::Attempt.new(Processing::Slice.new("orders", 0, messages), @node)
        @batch = @attempt.batch
        owner.define_singleton_method(:limit) { 1_000_000 }
        @attempt.owned?(owner)
        seen = []
        @batch.each do |message|
          seen << message.offset
          yield message if block_given?
          @attempt.end_early if @part.revocation
        end
        seen
      end

      def wait_readable_for(seconds) = IO.select(nil, nil, nil, seconds)
    end
  end
end
