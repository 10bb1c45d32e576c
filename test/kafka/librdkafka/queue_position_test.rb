# frozen_string_literal: true

require "kafka/support/reading"

module Skep
  module Kafka
    class WhereaboutsTest < ::KafkaCase
      test "says how far a queue has given out its partition, and nothing after a seek" do
        broker(orders: 1)
        feed("orders", (0..9).map { |n| ["k", n.to_s, 0] })
        reading = Reading.new(self, @broker)
        consumer = reading.instance_variable_get(:@consumer)
        queue_position = Librdkafka::QueuePosition.new(consumer.handle, "orders", 0)
        assert_nil queue_position.offset
        assert_equal 4, reading.take(4, limit: 4).size
        assert_equal 4, queue_position.offset
        reading.take(6)
        assert_equal 10, queue_position.offset
        consumer.seek([["orders", 0, 2]], 5.0)
        assert_nil queue_position.offset
        assert_equal 2, reading.take(1, limit: 1).first_offset
        assert_equal 3, queue_position.offset
      ensure
        queue_position&.close
        reading&.close
      end
    end
  end
end
