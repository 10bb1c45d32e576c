# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # A consumer that has one partition, and the reader of its queue, without a source around them.
    class Reading
      attr_reader :reader

      def initialize(test, broker, offset: -2, **settings)
        @test = test
        @consumer = Consumer.new({ "bootstrap.servers" => broker.bootstrap_servers,
                                   "group.id" => "readers", **settings.transform_keys(&:to_s) })
        @queue = Librdkafka::Bindings.queue_get_partition(@consumer.handle, "orders", 0)
        Librdkafka::Bindings.queue_forward(@queue, nil)
        (@bell = Librdkafka::WakeupPipe.new).told_by(@queue, 1)
        @reader = Librdkafka::PartitionQueue.new(@queue, "orders", 0, 100)
        Librdkafka::TopicPartitionList.make([["orders", 0, offset]]) { |list| @consumer.assign(list) }
      end

      # The messages that come next, so many at least; errors are collected.
      def take(count, limit: 100)
        hauls = []
        until hauls.sum(&:size) >= count
          haul, @errors, taken = read(limit)
          hauls << haul
          wait if taken.zero?
        end
        Librdkafka::MessageSet.join(hauls.reject(&:empty?))
      end

      # The first error.
      def error
        loop do
          _, errors, taken = read(100)
          return errors.first if errors.any?

          wait if taken.zero?
        end
      end

      def read(limit) = @reader.read(limit)

      def wait
        @test.wait_readable(@bell.io)
        @bell.heard
      end

      def close
        return unless @queue

        @reader.close
        Librdkafka::Bindings.queue_io_event_enable(@queue, -1, nil, 0)
        Librdkafka::Bindings.queue_destroy(@queue)
        @queue = nil
        @bell.close
        @consumer.close
      end
    end
  end
end
