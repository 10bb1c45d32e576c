# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "support/fakes"

module Skep
  module Kafka
    # Which partitions are assigned, and which earlier assignments of them are in flight.
    class AssignmentTest < ::Skep::TestCase
      def setup
        super
        @assignment = Processing::Scheduler::Assignment.new
      end

      test "finds partitions by their ids, and lists those that are not revoked" do
        one, two = add(1), add(2)
        one.revocation = :begun
        assert_equal [one, two, nil], [1, 2, 3].map { |id| @assignment[id] }
        assert_equal [two], @assignment.assigned
      end

      test "counts the assigned partitions of each topic's options" do
        one, other = Object.new, Object.new
        first = add(1, options: one)
        add(2, options: one)
        add(3, options: other)
        assert_equal [first], @assignment.begin_revocation([first.key])
        2.times { assert_empty @assignment.begin_revocation([first.key]) }
        @assignment.released(first)
        assert_equal [1, 1, 0], [one, other, Object.new].map { |some| @assignment.count(some) }
        @assignment.clear
        assert_equal 0, @assignment.count(one)
      end

      test "forgets a released partition" do
        one, two = add(1), add(2)
        assert_empty @assignment.released(one)
        assert_equal [nil, [two], 1], [@assignment[1], @assignment.assigned, @assignment.size]
      end

      test "a partition in flight delays later assignments of it, and no others" do
        old = add(1, in_flight: true, revocation: :finished)
        other = add(2, in_flight: true)
        young = add(3, key: old.key)
        assert_equal [true, false, false],
                     [young, old, other].map { |one| @assignment.previous_in_flight?(one) }
        assert_equal [young], @assignment.released(old)
        refute @assignment.previous_in_flight?(young)
      end

      test "closes and forgets all partitions at the end" do
        some = [add(1, in_flight: true), add(2)]
        @assignment.clear
        assert_equal [true, true, 0], [*some.map(&:closed), @assignment.size]
        assert_empty @assignment.assigned
      end

      private

      def add(id, key: ["t", id], **facts)
        Fakes::AssignedPartition.new(id:, key:, **facts).tap { |partition| @assignment.add(partition) }
      end
    end
  end
end
