# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # Which failures count against a message.
    class FailureCountTest < ::Skep::TestCase
      test "counts the failures of a batch, and those in a row of one message" do
        failures = Failure::FailureCount.new
        counted = [0, 0, 1, nil, nil, 1].map do |offset|
          failures.add(offset, 7.0)
          [failures.count, failures.number]
        end

        assert_equal [[1, 1], [2, 2], [3, 1], [4, 1], [5, 2], [6, 1]], counted
      end

      test "counts a failure against the message after others began and succeeded" do
        failures = Failure::FailureCount.new
        fail_at(failures, 10.0, success: 9.0)
        assert_equal [10.0, 0], [failures.since, failures.own_failures]
        fail_at(failures, 11.0, success: 9.0)  # begun before the first failure
        fail_at(failures, 12.0, success: 10.0) # begun at the first failure
        assert_equal 0, failures.own_failures
        fail_at(failures, 13.0, success: 12.5)
        fail_at(failures, 14.0, success: 12.5)
        assert_equal [10.0, 5, 2], [failures.since, failures.count, failures.own_failures]
      end

      test "counts a failure against a part of a batch if others succeeded since that failed" do
        failures = Failure::FailureCount.new(since: 5.0)
        fail_at(failures, 10.0, success: 9.0)
        assert_equal [5.0, 1, 1], [failures.since, failures.count, failures.own_failures]
      end

      test "failures with another cause count neither themselves nor the first one" do
        failures = Failure::FailureCount.new
        fail_at(failures, 10.0, success: 9.0)
        failures.discount
        fail_at(failures, 11.0, success: 10.5)
        failures.discount
        assert_equal(-1, failures.against)
        fail_at(failures, 12.0, success: 10.5)
        assert_equal [0, 0], [failures.against, failures.of_message.against]
        fail_at(failures, 13.0, success: 10.5)
        assert_equal 1, failures.against
      end

      test "counts nothing against a message while nothing has succeeded" do
        failures = Failure::FailureCount.new(since: 5.0)
        fail_at(failures, 10.0, success: nil)
        assert_equal 0, failures.own_failures
      end

      test "returns since when nothing has succeeded, also for parts of a batch" do
        failures = Failure::FailureCount.new(outage_since: 5.0)
        fail_at(failures, 10.0, success: 4.0)
        assert_equal [10.0, 5.0], [failures.since, failures.outage_since]
        fail_at(failures, 12.0, success: 11.0)
        fail_at(failures, 13.0, success: 11.0)
        assert_equal [10.0, 12.0], [failures.since, failures.outage_since]
      end

      test "continues the count of another process, also of failures after others succeeded" do
        before = Failure::FailureCount.new
        [nil, 12.0].each_with_index { |success, n| fail_at(before, 10.0 + (5 * n), success:) }
        assert_equal [2, 1, 10], before.dump(20.0)

        failures = Failure::FailureCount.restore(0, before.dump(20.0), 100.0)
        assert_equal [90.0, 2, 2, 1],
                     failures.then { |one| [one.since, one.count, one.number, one.own_failures] }
        fail_at(failures, 101.0, success: nil)
        assert_equal [3, 3, 2], [failures.count, failures.number, failures.own_failures]
      end

      private

      def fail_at(failures, now, success:)
        failures.begin_try(success)
        failures.add(0, now)
      end
    end
  end
end
