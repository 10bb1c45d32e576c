# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "support/fakes"

module Skep
  module Kafka
    # Partitions and work items in backoff, without a client or a clock.
    class BackoffQueueTest < Skep::TestCase
      # Prints by how many bytes 50,000 calls of `due` make a fresh process grow.
      GROWTH = <<~RUBY
        require "skep/kafka"
        backoff = Skep::Kafka::Processing::BackoffQueue.new
        backoff.add(Struct.new(:partition, :retry_at).new(:a, 9.0))
        bytes = [2_000, 50_000].map do |calls|
          calls.times { backoff.due(1.0) }
          GC.start
          Skep::OS::Memory.of.uss
        end
        puts bytes[1] - bytes[0]
      RUBY
      # Prints how many of 1,000 entries remain in memory after `due` has returned them.
      KEPT = <<~RUBY
        require "skep/kafka"
        backoff = Skep::Kafka::Processing::BackoffQueue.new
        entry = Struct.new(:partition, :retry_at)
        1_000.times { |number| backoff.add(entry.new(number, 1.0)) }
        puts backoff.due(1.0).size
        GC.start
        puts ObjectSpace.each_object(entry).count
      RUBY
      private_constant :GROWTH, :KEPT

      test "due returns an entry once, after its backoff; drop removes those of a partition" do
        backoff = Processing::BackoffQueue.new
        one, other, never = entry(:a, 2.0), entry(:b, 3.0), entry(:b, Float::INFINITY)
        [one, other, never].each { |entry| backoff.add(entry) }
        assert_equal 2.0, backoff.deadline
        assert_equal [[], [one], []], [backoff.due(1.0), backoff.due(2.0), backoff.due(2.5)]
        backoff.drop(:b)
        assert_equal [nil, []], [backoff.deadline, backoff.due(9.0)]
      end

      test "due returns what is over in the order of time, and what was added first first" do
        backoff = Processing::BackoffQueue.new
        late, one, other, moved = [3.0, 2.0, 2.0, 1.0].map { |time| entry(:a, time) }
        [late, one, moved, other].each { |entry| backoff.add(entry) }
        moved.retry_at = 4.0
        backoff.add(moved)
        assert_equal [2.0, [one, other, late]], [backoff.deadline, backoff.due(3.5)]
        assert_equal [4.0, [moved]], [backoff.deadline, backoff.due(4.0)]
      end

      test "deletes one of the entries that are over at the same time" do
        backoff = Processing::BackoffQueue.new
        some = Array.new(3) { entry(:a, 2.0) }
        some.each { |entry| backoff.add(entry) }
        2.times { backoff.delete(some[1]) }
        assert_equal [some[0], some[2]], backoff.due(2.0)
      end

      test "drops of a partition only the entries for which the block is true" do
        backoff = Processing::BackoffQueue.new
        one, other, elsewhere = entry(:a, 1.0), entry(:a, 2.0), entry(:b, 2.0)
        [one, other, elsewhere].each { |entry| backoff.add(entry) }
        backoff.drop(:a) { |entry| entry.retry_at > 1.0 }
        assert_equal [one, elsewhere], backoff.due(9.0)
      end

      test "a success ends the backoff of items that wait for one that began after their time" do
        backoff = Processing::BackoffQueue.new
        one, other, paused, elsewhere = %i[a a a b].map { |partition| entry(partition, 30.0) }
        [[one, 1.0], [other, 2.0], [paused], [elsewhere, 1.0]].each { |each| backoff.add(*each) }
        assert_equal [[], [one], []], [1.0, 1.5, 2.0].map { |began| backoff.succeeded(:a, began) }
        assert_equal [other, paused, elsewhere], backoff.due(30.0)
        assert_empty backoff.succeeded(:a, 9.0)
      end

      test "a probe ends the backoff of the first item that waits for a success" do
        backoff = Processing::BackoffQueue.new
        one, other, paused = entry(:a, 20.0), entry(:a, 10.0), entry(:a, 9.0)
        backoff.add(paused)
        refute backoff.probe(:a, 1.5)
        [one, other].each { |entry| backoff.add(entry, 0.5) }
        2.times { assert backoff.probe(:a, 1.5) }
        assert_equal [20.0, 1.5, 9.0], [one, other, paused].map(&:retry_at)
        assert_equal [other], backoff.due(1.5)
        backoff.drop(:a)
        refute backoff.probe(:a, 3.0)
      end

      test "keeps nothing in memory that due has returned" do
        out, err, status = run_program(KEPT)
        assert_equal ["", true], [err, status.success?]
        due, kept = out.lines.map(&:to_i)
        assert_equal 1_000, due
        assert_operator kept, :<, 10
      end

      test "due leaks no memory in 50,000 calls" do
        out, err, status = run_program(GROWTH)
        assert_equal ["", true], [err, status.success?]
        assert_operator out.to_i, :<, 1 << 20
      end

      private

      def entry(...) = Fakes::BackoffItem.new(...)
    end
  end
end
