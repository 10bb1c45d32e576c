# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    module Processing
      # Fairness between topics, with a fake clock.
      class TopicQueueTest < Skep::TestCase
        # What the queue needs of a work item.
        Entry = Struct.new(:partition, :name) do
          def slice = self
        end
        Partition = Struct.new(:options)
        Options = Struct.new(:all, :threads)
        Topic = Struct.new(:weight, :name)
        private_constant :Entry, :Partition, :Options, :Topic

        def setup
          super
          @now = 0.0
        end

        test "topics get time in proportion to their weights" do
          queue = queue_of(threads: 1, slow: 1, quick: 1, heavy: 2)
          @topics.each { |topic| 400.times { put(topic) } }
          used = Hash.new(0.0)
          400.times do
            topic = one_turn { |name| name == :slow ? 0.2 : 0.01 }
            used[topic] += topic == :slow ? 0.2 : 0.01
          end

          assert_in_delta used[:quick], used[:slow], 0.4
          assert_in_delta 2 * used[:quick], used[:heavy], 0.4
          refute_predicate queue, :empty?
        end

        test "a topic that was idle doesn't catch up on what it has missed" do
          queue_of(threads: 1, busy: 1, idle: 1)
          100.times { put(:busy) }
          50.times { one_turn { 1.0 } }
          100.times { put(:idle) }
          turns = Array.new(20) { one_turn { 1.0 } }

          assert_includes 9..11, turns.count(:idle)
        end

        test "a topic that gets work during a long turn is next, for its fair share" do
          queue_of(threads: 2, slow: 1, other: 1)
          3.times { put(:slow) && one_turn { 5.0 } }
          30.times { put(:slow) }
          one_turn do
            @now += 3.0
            30.times { put(:other) }
            0.1
          end
          turns = Array.new(40) { one_turn { 0.005 } }

          assert_equal [:other] * 10, turns.first(10)
          assert_operator turns.count(:slow), :>=, 8
        end

        test "a topic that gets work after another topic's long turn doesn't delay that topic" do
          queue_of(threads: 1, slow: 1, other: 1)
          put(:slow)
          one_turn { 600.0 }
          @now += 1.0
          20.times { put(:other) }
          5.times { put(:slow) }
          turns = Array.new(10) { one_turn { 0.01 } }

          assert_includes 4..6, turns.count(:slow)
        end

        test "the last free thread is for topics without a turn in progress" do
          queue_of(threads: 3, slow: 1, other: 1)
          5.times { put(:slow) }
          assert_equal %i[slow slow], [begun, begun]
          waiting = in_thread { @queue.pop }
          put(:other)
          assert_equal :other, waiting.value.name
        end

        test "topics whose turns are short use all threads" do
          queue_of(threads: 2, quick: 1, other: 1)
          put(:quick)
          one_turn { 0.001 }
          2.times { put(:quick) }
          assert_equal %i[quick quick], [begun, begun]
        end

        test "a topic that waits continues when a thread finishes its turn" do
          queue_of(threads: 2, slow: 1)
          2.times { put(:slow) }
          begun, first = Array.new(2) { Thread::Queue.new }
          thread = in_thread do
            begun << @queue.pop
            first.pop
            @queue.end_turn
          end
          begun.pop
          waiting = in_thread { @queue.pop }
          assert_nil waiting.join(0.05)
          first << true
          assert_equal :slow, waiting.value.name
          thread.join
        end

        test "a closed queue returns nothing more" do
          queue = queue_of(threads: 1, one: 1)
          put(:one)
          popped = Thread::Queue.new
          waiting = in_thread { 2.times { popped << queue.pop } }
          assert_equal :one, popped.pop.name
          queue.close.clear
          assert_nil popped.pop
          waiting.join
          assert_predicate queue, :closed?
        end

        private

        def queue_of(threads:, **weights)
          @topics = weights.keys
          @options = weights.to_h { |name, weight| [name, Topic.new(weight, name)] }
          @queue = TopicQueue.new(Options.new(@options.values, threads), clock: -> { @now })
        end

        def put(topic) = @queue << Entry.new(Partition.new(@options.fetch(topic)), topic)

        # Takes a turn. The block gets the topic, and returns the seconds that its turn takes.
        def one_turn
          entry = @queue.pop
          @queue.took(entry)
          seconds = yield entry.name
          @now += seconds
          @queue.end_turn
          entry.name
        end

        # Begins a turn of another thread, which doesn't end. Returns the topic.
        def begun = in_thread { @queue.pop }.value.name

        def in_thread(&) = Thread.new(&)
      end
    end
  end
end
