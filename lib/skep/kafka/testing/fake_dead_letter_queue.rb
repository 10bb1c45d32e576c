# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # The dead letter topic in a test: what would lie there, with its headers.
      class FakeDeadLetterQueue < Failure::DeadLetterQueue
        attr_reader :messages #: Array[Message], those that were set aside
        attr_reader :written #: Array[ProducedMessage]

        def initialize(options, child) #: (Config::SourceOptions, FakeChild) -> void
          super
          @messages = []
          @written = []
        end

        def put(message, error, attempts:, crashes: nil, **)
          headers = headers(message, error, "skep.attempts" => attempts.to_s,
                                            "skep.crashes" => crashes&.to_s)
          @messages << message
          @written << ProducedMessage.new(@topic, message.payload, message.key, headers)
        end

        def close = nil
      end
    end
  end
end
