# frozen_string_literal: true

require "kafka/support/reading"
require "skep/kafka/testing"

module Skep
  module Kafka
    class PartitionQueueTest < ::KafkaCase
      test "has the position after what was read, and none after a seek" do
        broker(orders: 1)
        feed("orders", (0..9).map { |n| ["k", n.to_s, 0] })
        reading = Reading.new(self, @broker)
        queue = reading.queue
        assert_nil queue.position
        assert_equal 4, reading.take(4, limit: 4).size
        assert_equal [4, true, 0], [queue.position, queue.behind?, queue.low_watermark]
        reading.take(6)
        assert_equal [10, false], [queue.position, queue.behind?]
        reading.consumer.seek([["orders", 0, 2]], 5.0)
        assert_nil queue.position
        assert_equal 2, reading.take(1, limit: 1).first_offset
        assert_equal 3, queue.position
      ensure
        reading&.close
      end

      test "has a fake with the same methods" do
        methods = Librdkafka::PartitionQueue.public_instance_methods(false)
        methods.concat(Librdkafka::PartitionQueue::Fallback.public_instance_methods)
        fake = Testing::FakeLog.new([])
        methods.each do |name|
          assert_equal Librdkafka::PartitionQueue.instance_method(name).arity.abs,
                       fake.method(name).arity.abs, name
        end
      end

      test "reads headers, of a repeated one all" do
        broker(orders: 1)
        writer = Producer::SyncProducer.new({ "bootstrap.servers" => @broker.bootstrap_servers })
        writer.put("orders", nil, "v", [["a", "1"], ["b", nil], ["a", "2"], ["é", "\xFF".b]])
        writer.put("orders", nil, "v")
        assert_equal 0, writer.flush(10)
        writer.close
        headers = []
        play do |batch, child|
          headers.concat(batch.map(&:headers))
          child.stop! if headers.size == 2
        end

        assert_equal [{ "a" => %w[1 2], "b" => nil, "é" => "\xFF".b }, {}], headers
      end

      test "lets no handler change the name of its topic, by which it is committed" do
        broker(orders: 1)
        feed("orders", [%w[k 1]])
        refused = []
        play do |batch, child|
          [batch.topic, batch.first.topic].each do |name|
            name << ".dead"
          rescue FrozenError => e
            refused << e.class
          end
          child.stop!
        end

        assert_equal [FrozenError] * 2, refused
      end

      test "hands over a full batch at once, however long a smaller one may wait" do
        broker(orders: 1)
        feed("orders", [%w[k 1]])
        sizes = []
        feeder = nil
        told = lambda do |name, _, _|
          feeder ||= Thread.new { feed("orders", [%w[k 2], %w[k 3]]) } if name == "joined"
        end
        play({ max_wait: 60, batch: 3 }, told:) do |batch, child|
          sizes << batch.size
          child.stop!
        end
        feeder.join

        assert_equal [3], sizes
      end

      test "lets a smaller batch wait for more messages, and no longer than it may" do
        broker(orders: 1)
        feed("orders", [%w[k 1]])
        sizes = []
        started = OS.now
        play({ max_wait: 0.5, batch: 3 }) do |batch, child|
          sizes << batch.size
          child.stop!
        end

        assert_equal [1], sizes
        assert_operator OS.now - started, :>, 0.5
      end
    end
  end
end
