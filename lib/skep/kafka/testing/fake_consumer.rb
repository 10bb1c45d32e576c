# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # In the place of a consumer: keeps the offsets that a worker stores.
      class FakeConsumer
        attr_reader :stored #: Hash[[String, Integer], Integer]

        def initialize(shelves) #: (Hash[[String, Integer], FakeLog]) -> void
          @shelves = shelves
          @stored = {}
        end

        def store(topic, number, offset, _epoch = nil)
          @stored[[topic, number]] = offset
          true
        end

        def commit(offsets, _seconds)
          offsets.each { |entry| store(*entry) }
          0
        end

        def end_of(topic, number) = @shelves[[topic, number]]&.end
        def ends(_keys, _seconds) = {}
        def committed(_keys, _seconds) = {}
        def starts(_keys, _seconds) = {}
        def inspect = "#<Skep::Kafka::Testing::FakeConsumer #{@stored}>"
      end
    end
  end
end
