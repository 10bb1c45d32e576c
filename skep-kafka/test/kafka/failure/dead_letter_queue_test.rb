# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    class DeadLetterQueueTest < ::KafkaCase
      test "handles its client's events while it has nothing to write" do
        broker(dead: 1)
        logs = Thread::Queue.new
        @node = FakeNode.new { |name, facts| logs << facts if name == "kafka_log" }
        kafka = { **@broker.settings, "debug" => "broker", "log_level" => "7",
                  "topic.metadata.refresh.interval.ms" => "100" }
        options = Config::SourceOptions.new(**options(kafka:, dead_letter_topic: "dead"))
        queue = Failure::DeadLetterQueue.new(options.settings, @node)
        queue.put(Message.new("orders", 0, 7, "k", "v", 0, {}), IOError.new("no"), to: "dead",
                                                                               attempts: 1)
        logs.clear
        @broker.stop
        assert pop(logs), "librdkafka's log lines weren't read"
      ensure
        queue&.close
      end

      private

      # Returns the next item, or nil after ten seconds.
      def pop(items)
        waiting = Thread.new { items.pop }
        waiting.join(10)&.value
      ensure
        waiting&.kill&.join
      end
    end
  end
end
