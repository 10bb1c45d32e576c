# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    class ErrorCodeTest < ::KafkaCase
      test "has librdkafka's name for each code" do
        Librdkafka::Bindings.load
        codes = Librdkafka::ErrorCode.constants.to_h do |name|
          [name.to_s, Librdkafka::ErrorCode.const_get(name)]
        end
        codes.select! { |_, code| code.is_a?(Integer) }

        assert_equal codes.keys,
                     codes.values.map { |code|
                       Librdkafka::Bindings.err2name(code).delete_prefix("_")
                     }
        assert_operator codes.size, :>, 30
      end
    end
  end
end
