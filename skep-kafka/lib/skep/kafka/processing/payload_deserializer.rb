# frozen_string_literal: true

# Gives the messages of a batch their values (`deserializer:`) before the handler sees them.
#
#   deserializer = PayloadDeserializer.for(:json)
#   deserializer.call(batch)   # => copies of its messages, which have a `value`
#
# The worker calls it again for each try, so that a handler may change the values. The scoreboard
# shows the message whose payload is being read, as in the handler.
module Skep
  module Kafka
    module Processing
      class PayloadDeserializer
        # The deserializer raised: its errors, by offset. The other messages are processed apart.
        class Unreadable < StandardError
          attr_reader :errors

          def initialize(errors)
            @errors = errors
            super("#{errors.size} payloads can't be read")
          end
        end

        JSON_READER = lambda do |payload, _headers|
          JSON.parse(payload)
        rescue JSON::ParserError, EncodingError
          raise InvalidPayload.new(format: "JSON", bytes: payload.bytesize)
        end
        BUILT_IN = { json: JSON_READER }.freeze
        private_constant :JSON_READER, :BUILT_IN

        # Returns nil for nil.
        def self.for(deserializer)
          deserializer && new(BUILT_IN.fetch(deserializer, deserializer))
        end

        # reader: called with a payload and its message's headers, returns the value.
        def initialize(reader)
          @reader = reader
        end

        # Raises Unreadable if the reader raises a UserError. After one that a
        # retry may mend it reads no further: each other message might wait for the same service.
        def call(batch)
          messages, errors = [], {}
          batch.each do |message|
            messages << read(message)
          rescue UserError => e
            errors[message.offset] = e
            break unless e.is_a?(NonRetryable)
          end
          raise Unreadable.new(errors) if errors.any?

          messages
        end

        private

        # A tombstone's value is nil.
        def read(message)
          payload = message.payload
          value = payload.nil? ? nil : @reader.call(payload, message.headers)
          message.__with_value(value)
        end
      end
    end
  end
end
