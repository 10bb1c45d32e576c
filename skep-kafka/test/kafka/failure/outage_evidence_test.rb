# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # When the last success of other partitions counts against a message that fails.
    class OutageEvidenceTest < ::Skep::TestCase
      def setup
        super
        @evidence = Failure::OutageEvidence.new
      end

      test "a success counts until two others have begun to fail after it" do
        assert_nil success(:a)
        @evidence.succeeded(:z, 10.0)
        { a: 11.0, b: 11.5 }.each { |one, since| @evidence.failed(one, since) }
        assert_equal [10.0, 10.0, nil], %i[a b new].map { |one| success(one) }
        @evidence.failed(:c, 11.7)
        assert_equal [nil, nil, nil, nil], %i[a b c new].map { |one| success(one) }
        @evidence.forget(:b)
        assert_equal [10.0, 10.0], %i[a c].map { |one| success(one) }
      end

      test "no success counts while more than half of the partitions fail" do
        { a: 1.0, b: 2.0, c: 2.0 }.each { |one, since| @evidence.failed(one, since) }
        @evidence.succeeded(:z, 2.5)
        assert_equal [nil, 2.5], [5, 6].map { |assigned| success(:a, assigned:, now: 3.0) }
        @evidence.succeeded(:z, 3.5)
        assert_equal 3.5, success(:a, assigned: 3), "a second after all others had begun to fail"
        @evidence.succeeded(:b, 2.7)
        assert_equal 3.5, success(:a, assigned: 3), "an earlier one comes late"
      end

      test "in doubt the success counts for one message of the partition that fails for longest" do
        @evidence.succeeded(:z, 10.0)
        { a: 11.0, b: 11.0, c: 12.0 }.each { |one, since| @evidence.failed(one, since) }
        assert_equal [nil, nil], [success(:a, now: 13.9), success(:b, now: 15.0)]
        assert_equal [10.0, nil, nil], [[:a, 1], [:a, 2], [:b, 1]].map { |one, offset|
          success(one, offset, now: 14.0)
        }
        @evidence.forget(:a)
        @evidence.failed(:d, 13.0)
        assert_equal 10.0, success(:b, now: 14.0)
      end

      private

      def success(partition, offset = 1, assigned: 9, now: 12.0)
        @evidence.success(partition, offset, assigned, now)
      end
    end
  end
end
