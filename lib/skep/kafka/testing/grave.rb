# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # The dead letter topic in a test: what would lie there, with its headers.
      class Grave < DeadLetter
        # In the place of a producer.
        Writer = Struct.new(:put_down) do
          def put(topic, key, payload, headers = nil)
            put_down << Produced.new(topic, payload, key, headers)
          end

          def flush(_seconds) = 0
          def failed = 0
          def close = nil
        end
        private_constant :Writer

        attr_reader :messages #: Array[Message], those that were set aside
        attr_reader :written #: Array[Produced]

        def initialize(options)
          super
          @messages = []
          @written = []
        end

        def put(message, error, **)
          super
          @messages << message
        end

        private

        def producer = @producer ||= Writer.new(@written)
      end
      private_constant :Grave
    end
  end
end
