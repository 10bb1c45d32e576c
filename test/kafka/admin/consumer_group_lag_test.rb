# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # Against an embedded broker, which describes no groups; the scenario lag_is_what_others_say has
    # a real one.
    class ConsumerGroupLagTest < ::KafkaCase
      test "names the embedded broker where groups can't be described" do
        broker(orders: 1)
        error = assert_raises(UnknownGroup) { Skep::Kafka.lag("readers", @broker.settings) }
        assert_match(/can't describe groups, as the embedded broker can't/, error.message)
      end
    end
  end
end
