# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # Builds messages from payloads and hashes. Those without an offset get consecutive ones.
      #
      #   factory = MessageFactory.new(topic: "orders", partition: 0, offset: 0)
      #   factory.message("payload")                         # => Message orders/0/0
      #   factory.message({ key: "k", payload: "p" })        # => Message orders/0/1
      class MessageFactory
        FACTS = %i[topic partition offset key payload headers timestamp].freeze
        private_constant :FACTS

        def initialize(topic:, partition: 0, offset: 0)
          @topic = topic
          @partition = partition
          @first = offset
          @next = {}
        end

        def message(given) #: (String | Hash[Symbol, untyped] | Message | nil) -> Message
          return given if given.is_a?(Message)

          facts = given.is_a?(Hash) ? given.transform_keys(&:to_sym) : { payload: given }
          unknown = facts.keys - FACTS
          raise ArgumentError, "a message has no #{unknown.join(", ")}" if unknown.any?

          make(**facts)
        end

        private

        def make(topic: @topic, partition: @partition, offset: nil, key: nil, payload: nil,
                 headers: {}, timestamp: nil)
          offset ||= @next.fetch([topic, partition], @first)
          @next[[topic, partition]] = offset + 1
          headers = headers.to_h { |name, value| [name.to_s, binary(value)] }.freeze
          Message.new(topic, partition, offset, key&.to_s&.b, payload&.to_s&.b,
                      milliseconds(timestamp), headers)
        end

        def binary(value)
          value.is_a?(Array) ? value.map { |one| binary(one) } : value&.to_s&.b
        end

        def milliseconds(time)
          return -1 unless time

          time.is_a?(Time) ? (time.to_r * 1000).floor : time
        end
      end
    end
  end
end
