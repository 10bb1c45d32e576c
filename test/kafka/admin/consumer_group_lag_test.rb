# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # Uses the embedded broker, which can't describe groups. The scenario
    # reported_lag_matches_an_independent_client uses a real broker.
    class ConsumerGroupLagTest < ::KafkaCase
      test "lag raises UnknownGroup and names the embedded broker, which can't describe groups" do
        broker(orders: 1)
        error = assert_raises(UnknownGroup) { Skep::Kafka.lag("readers", @broker.settings) }
        assert_match(/can't describe groups, as the embedded broker can't/, error.message)
      end
    end
  end
end
