# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    class DeadLetterTest < ::KafkaCase
      test "hears what its client says while it has nothing to write" do
        broker(dead: 1)
        told = Thread::Queue.new
        @child = FakeChild.new { |name, facts| told << facts if name == "kafka_log" }
        kafka = { **@broker.settings, "debug" => "broker", "log_level" => "7",
                  "topic.metadata.refresh.interval.ms" => "100" }
        letters = Failure::DeadLetterQueue.new(
                                               Config::SourceOptions.new(**options(kafka:,
                                                                                   dead_letter: "dead")), @child)
        letters.put(Message.new("orders", 0, 7, "k", "v", 0, {}), IOError.new("no"), attempts: 1)
        told.clear
        @broker.stop
        assert heard(told), "its client was heard no more"
      ensure
        letters&.close
      end

      private

      # What is told next, with a deadline.
      def heard(queue)
        waiting = Thread.new { queue.pop }
        waiting.join(10)&.value
      ensure
        waiting&.kill&.join
      end
    end
  end
end
