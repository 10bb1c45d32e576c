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
        Delivery = Struct.new(:report) do
          def wait(timeout: nil) # rubocop:disable Lint/UnusedMethodArgument -- as the real one
            report
          end

          def done? = true
          def heard? = false
          def claimed? = true
          def error = nil
          def topic = report.topic
        end
        private_constant :Place, :Delivery

        #: (Array[ProducedMessage], ?transactional: bool) -> void
        def initialize(produced, transactional: false)
          @produced = produced
          @transactional = transactional
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

        def transactional? = @transactional
        def init_transactions = nil

        def begin_batch
          @begun = [] if @transactional
        end

        def await_deliveries(_partition, _offset)
          @produced.concat(@begun.to_a)
          @begun = nil
          true
        end

        def abort_batch = @begun = nil
        def inspect = "#<Skep::Kafka::Testing::FakeProducer produced=#{@produced.size}>"
      end

      # Makes a producer for each worker of a test run.
      FakeProducers = Struct.new(:produced, :transactional) do
        def for_thread(child, _thread)
          FakeProducer.new(produced, transactional:).tap { |producer| child.__lend(producer) }
        end
      end
    end
  end
end
