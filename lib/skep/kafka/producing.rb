# frozen_string_literal: true

# What everyone can do who can produce a message.
module Skep
  module Kafka
    module Producing
      # Produces a message and waits for it: its Place, or NotDelivered.
      #: (String, String?, ?timeout: Numeric?, **untyped) -> Place
      def produce_sync(topic, payload = nil, timeout: nil, **more)
        produce(topic, payload, **more).wait(timeout:)
      end
    end
    private_constant :Producing
  end
end
