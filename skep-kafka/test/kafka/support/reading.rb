# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # A consumer with one partition, and the partition's queue, without a source.
    class Reading
      attr_reader :consumer, :queue

      def initialize(test, broker, offset: -2, **settings)
        @test = test
        @consumer = Consumer.new({ "bootstrap.servers" => broker.bootstrap_servers,
                                   "group.id" => "readers", **settings.transform_keys(&:to_s) })
        @queue = Librdkafka::PartitionQueue.new(@consumer.handle, "orders", 0, 100)
        @queue.notify(@wakeup_pipe = Librdkafka::WakeupPipe.new, 1)
        Librdkafka::TopicPartitionList.make([["orders", 0, offset]]) { |list| @consumer.assign(list) }
      end

      # Returns the next messages, at least so many.
      def take(count, limit: 100)
        message_sets = []
        until message_sets.sum(&:size) >= count
          message_set, @errors, taken = read(limit)
          message_sets << message_set
          wait if taken.zero?
        end
        Librdkafka::MessageSet.join(message_sets.reject(&:empty?))
      end

      # Returns the first error.
      def error
        loop do
          _, errors, taken = read(100)
          return errors.first if errors.any?

          wait if taken.zero?
        end
      end

      def read(limit) = @queue.read(limit)

      def wait
        @test.wait_readable(@wakeup_pipe.io)
        @wakeup_pipe.drain
      end

      def close
        return if @consumer.closed?

        @queue.close
        @wakeup_pipe.close
        @consumer.close
      end
    end
  end
end
