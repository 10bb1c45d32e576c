# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    class LeaderEpochsTest < Skep::TestCase
      test "returns the epoch of each offset between two reads of the same epoch" do
        epochs = Processing::LeaderEpochs.new(42, 7)
        epochs.read(42, 60, 7)
        epochs.read(60, 80, 7)

        assert_equal [nil, 7, 7, 7, nil], at(epochs, 41, 42, 60, 80, 81)
      end

      test "returns only the last epoch of a read in which the epoch changes" do
        epochs = Processing::LeaderEpochs.new
        epochs.read(nil, 10, 3)
        epochs.read(10, 20, 4)
        epochs.read(20, 30, 4)

        assert_equal [3, nil, 4, 4], at(epochs, 10, 11, 20, 25)
      end

      test "returns no epoch for offsets that weren't read" do
        epochs = Processing::LeaderEpochs.new
        epochs.read(nil, 10, 3)
        epochs.read(15, 20, 3)
        epochs.read(20, 30, nil)

        assert_equal [nil, 3, nil], at(epochs, 15, 20, 30)
      end

      test "returns no epoch lower than one committed before" do
        epochs = Processing::LeaderEpochs.new(500, 3)
        epochs.reset
        epochs.read(500, 20, 0)
        epochs.read(20, 30, 3)
        assert_equal [nil, 3], at(epochs, 20, 30)

        epochs.read(30, 40, 2)
        assert_equal [nil], at(epochs, 40)
      end

      private

      def at(epochs, *offsets) = offsets.map { |offset| epochs.at(offset) }
    end

    # Which leader epochs a node commits. An unknown epoch keeps no offset from being committed.
    class CommittedEpochsTest < ::KafkaCase
      test "commits the epoch of the last message with its offset" do
        broker(orders: 1)
        feed("orders", (0...6).map { |n| ["k", n.to_s] })
        assert_equal [[6, 0]], stored { play { |_, node| node.stop! } }
      end

      test "commits offsets after a seek backwards" do
        broker(orders: 1)
        feed("orders", (0...6).map { |n| ["k", n.to_s] })
        sought = false
        stored = stored do
          play({ max_messages: 3 }) do |batch, node|
            next node.stop! if sought

            batch.last_offset == 5 && (sought = true) && batch.seek(1)
          end
        end

        assert_equal [[3, 0], [1, nil], [4, 0]], stored
        assert_equal %w[4 5], redelivered
      end

      private

      # Returns what the consumer stores, as [offset, epoch].
      def stored
        found = []
        original = Consumer.instance_method(:store)
        replace_store(lambda do |topic, number, offset, epoch = nil, metadata = nil|
          found << [offset, epoch]
          original.bind_call(self, topic, number, offset, epoch, metadata)
        end)
        yield
        found
      ensure
        replace_store(original)
      end

      def replace_store(body)
        Consumer.remove_method(:store)
        Consumer.define_method(:store, body)
      end
    end
  end
end
