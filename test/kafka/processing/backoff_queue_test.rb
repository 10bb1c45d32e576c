# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # What is to be left alone for a while; no client and no clock.
    class RestingTest < Skep::TestCase
      One = Struct.new(:partition, :retry_at)

      # Prints by how many bytes 50,000 looks make a fresh process grow.
      GROWTH = <<~RUBY
        require "skep/kafka"
        resting = Skep::Kafka::Processing::BackoffQueue.new
        resting.add(Struct.new(:retry_at).new(9.0))
        bytes = [2_000, 50_000].map do |looks|
          looks.times { resting.over(1.0) }
          GC.start
          Skep::OS::Memory.of.uss
        end
        puts bytes[1] - bytes[0]
      RUBY
      private_constant :One, :GROWTH

      test "gives what has rested enough, once, and forgets what its partition takes along" do
        resting = Processing::BackoffQueue.new
        one, other, never = One.new(:a, 2.0), One.new(:b, 3.0), One.new(:b, Float::INFINITY)
        [one, other, never].each { |each| resting.add(each) }
        assert_equal 2.0, resting.deadline
        assert_equal [[], [one], []], [resting.over(1.0), resting.over(2.0), resting.over(2.5)]
        resting.drop(:b)
        assert_equal [nil, []], [resting.deadline, resting.over(9.0)]
      end

      test "ends the rest of strands that await a success begun after that time, and no other" do
        resting = Processing::BackoffQueue.new
        one, other, pausing, elsewhere = %i[a a a b].map { |partition| One.new(partition, 30.0) }
        [[one, 1.0], [other, 2.0], [pausing], [elsewhere, 1.0]].each { |each| resting.add(*each) }
        assert_equal [[], [one], []], [1.0, 1.5, 2.0].map { |began| resting.end_with(:a, began) }
        assert_equal [other, pausing, elsewhere], resting.over(30.0)
        assert_equal [], resting.end_with(:a, 9.0)
      end

      test "has one of the strands that await a success tried earlier, the first" do
        resting = Processing::BackoffQueue.new
        one, other, pausing = One.new(:a, 20.0), One.new(:a, 10.0), One.new(:a, 9.0)
        resting.add(pausing)
        refute resting.probe(:a, 1.5)
        [one, other].each { |each| resting.add(each, 0.5) }
        2.times { assert resting.probe(:a, 1.5) }
        assert_equal [20.0, 1.5, 9.0], [one, other, pausing].map(&:retry_at)
        assert_equal [other], resting.over(1.5)
        resting.drop(:a)
        refute resting.probe(:a, 3.0)
      end

      test "looking costs no memory, however often" do
        out, err, status = run_program(GROWTH)
        assert_equal ["", true], [err, status.success?]
        assert_operator out.to_i, :<, 1 << 20
      end
    end
  end
end
