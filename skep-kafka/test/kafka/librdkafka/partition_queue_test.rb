# frozen_string_literal: true

require "kafka/support/reading"
require "skep/kafka/testing"

module Skep
  module Kafka
    class PartitionQueueTest < ::KafkaCase
      test "has the position after the last read message, and none after a seek" do
        broker(orders: 1)
        feed("orders", (0..9).map { |n| ["k", n.to_s, 0] })
        reading = Reading.new(self, @broker)
        queue = reading.queue
        assert_nil queue.position
        assert_equal 4, reading.take(4, limit: 4).size
        assert_equal [4, 0], [queue.position, queue.low_watermark]
        reading.take(6)
        assert_equal 10, queue.position
        reading.consumer.seek([["orders", 0, 2]], 5.0)
        assert_nil queue.position
        assert_equal 2, reading.take(1, limit: 1).first_offset
        assert_equal 3, queue.position
      ensure
        reading&.close
      end

      test "FakeLog has the same methods" do
        methods = Librdkafka::PartitionQueue.public_instance_methods(false)
        methods.concat(Librdkafka::PartitionQueue::Fallback.public_instance_methods)
        fake = Testing::FakeLog.new([])
        methods.each do |name|
          assert_equal Librdkafka::PartitionQueue.instance_method(name).arity.abs,
                       fake.method(name).arity.abs, name
        end
      end

      test "reads all values of a repeated header" do
        broker(orders: 1)
        writer = Producer::SyncProducer.new({ "bootstrap.servers" => @broker.bootstrap_servers })
        writer.put("orders", nil, "v", [["a", "1"], ["b", nil], ["a", "2"], ["é", "\xFF".b]])
        writer.put("orders", nil, "v")
        assert_equal 0, writer.flush(10)
        writer.close
        headers = []
        play do |batch, node|
          headers.concat(batch.map(&:headers))
          node.stop! if headers.size == 2
        end

        assert_equal [{ "a" => %w[1 2], "b" => nil, "é" => "\xFF".b }, {}], headers
      end

      test "a handler can't change the name of its topic" do
        broker(orders: 1)
        feed("orders", [%w[k 1]])
        refused = []
        play do |batch, node|
          [batch.topic, batch.first.topic].each do |name|
            name << ".dead"
          rescue FrozenError => e
            refused << e.class
          end
          node.stop!
        end

        assert_equal [FrozenError] * 2, refused
      end

      test "yields a full batch at once, whatever max_wait is" do
        broker(orders: 1)
        feed("orders", [%w[k 1]])
        sizes = []
        feeder = nil
        on_event = lambda do |name, _, _|
          feeder ||= Thread.new { feed("orders", [%w[k 2], %w[k 3]]) } if name == "assigned"
        end
        play({ max_wait: 60, max_messages: 3 }, on_event:) do |batch, node|
          sizes << batch.size
          node.stop!
        end
        feeder.join

        assert_equal [3], sizes
      end

      test "a smaller batch waits for messages up to max_wait" do
        broker(orders: 1)
        feed("orders", [%w[k 1]])
        sizes = []
        started = OS.now
        play({ max_wait: 0.5, max_messages: 3 }) do |batch, node|
          sizes << batch.size
          node.stop!
        end

        assert_equal [1], sizes
        assert_operator OS.now - started, :>, 0.5
      end
    end
  end
end
