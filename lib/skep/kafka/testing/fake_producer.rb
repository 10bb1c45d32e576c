# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # A message that a handler has produced.
      ProducedMessage = Struct.new(:topic, :payload, :key, :headers, :partition, :timestamp)

      # Replaces `child.producer` in tests. Each message is delivered at once.
      #
      #   producer.produce("out", "payload", key: "k").wait    # => its DeliveryReport
      class FakeProducer
        Place = Struct.new(:topic, :partition, :offset) do
          def to_s = "#{topic}/#{partition}/#{offset}"
        end

        # Replaces DeliveryHandle: the message is delivered.
        Delivery = Struct.new(:place) do
          def wait(timeout: nil) # rubocop:disable Lint/UnusedMethodArgument -- as the real one
            place
          end

          def done? = true
          def heard? = false
          def claimed? = true
          def error = nil
          def topic = place.topic
        end
        private_constant :Place, :Delivery

        #: (Array[ProducedMessage], ?atomic: bool) -> void
        def initialize(produced, atomic: false)
          @produced = produced
          @atomic = atomic
          @offsets = Hash.new(-1)
        end

        #: (String, String?, ?key: String?, ?headers: Hash?, ?partition: Integer?,
        #:   ?timestamp: untyped) -> Delivery
        def produce(topic, payload = nil, key: nil, headers: nil, partition: nil, timestamp: nil)
          Producer::ProduceMethods.check(topic.to_s, payload, key, partition, headers)
          headers ||= {}
          message = ProducedMessage.new(topic.to_s, payload, key, headers, partition, timestamp)
          (@begun || @produced) << message
          at = [topic.to_s, partition || 0]
          Delivery.new(Place.new(*at, @offsets[at] += 1))
        end

        def produce_sync(topic, payload = nil, timeout: nil, **more)
          produce(topic, payload, **more).wait(timeout:)
        end

        def flush(_seconds) = 0

        # Called by the worker. Outputs of a transaction are visible once it is committed.

        def atomic? = @atomic
        def open = nil

        def begin
          @begun = [] if @atomic
        end

        def seal(_partition, _offset)
          @produced.concat(@begun.to_a)
          @begun = nil
          true
        end

        def abort = @begun = nil
        def inspect = "#<Skep::Kafka::Testing::FakeProducer produced=#{@produced.size}>"
      end

      # Makes a producer for each worker of a test run.
      FakeProducers = Struct.new(:produced, :atomic) do
        def of(child, _thread)
          FakeProducer.new(produced, atomic:).tap { |outlet| child.__lend(outlet) }
        end
      end
    end
  end
end
