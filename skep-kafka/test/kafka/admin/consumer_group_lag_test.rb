# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # Uses the embedded broker, which can't describe groups. The scenario
    # reported_lag_matches_an_independent_client uses a real broker.
    class ConsumerGroupLagTest < ::KafkaCase
      FIND_COORDINATOR = 10
      COORDINATOR_NOT_AVAILABLE = 15
      private_constant :FIND_COORDINATOR, :COORDINATOR_NOT_AVAILABLE

      test "lag raises UnknownGroup and names the embedded broker, which can't describe groups" do
        broker(orders: 1)
        error = assert_raises(UnknownGroup) { Skep::Kafka.lag("readers", @broker.settings) }
        assert_match(/can't describe groups, as the embedded broker can't/, error.message)
      end

      test "lag leaves no client behind if the group's coordinator doesn't answer" do
        broker(orders: 1)
        @broker.fail_next(FIND_COORDINATOR, *[COORDINATOR_NOT_AVAILABLE] * 1_000)
        assert_raises(BrokerUnreachable) do
          Skep::Kafka.lag("readers", @broker.settings, seconds: Patience.of(1))
        end
        assert_empty librdkafka_threads
      end

      private

      def librdkafka_threads
        names = Dir.glob("/proc/self/task/*/comm").map { |path| File.read(path) }
        names.grep(/\Ardk/)
      end
    end
  end
end
