# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # One message that a handler has produced.
      ProducedMessage = Struct.new(:topic, :payload, :key, :headers, :partition, :timestamp)

      # What `child.producer` is in a test: keeps what is produced, which arrives at once.
      #
      #   producer.produce("out", "payload", key: "k").wait    # => its DeliveryReport
      class FakeProducer
        Place = Struct.new(:topic, :partition, :offset)

        # A message on its way, which is there.
        Delivery = Struct.new(:report) do
          def wait(**) = report
          def done? = true
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
          (@begun || @produced) << ProducedMessage.new(topic.to_s, payload, key, headers || {}, partition,
                                                timestamp)
          at = [topic.to_s, partition || 0]
          Delivery.new(Place.new(*at, @offsets[at] += 1))
        end

        def produce_sync(...) = produce(...).wait
        def flush(_seconds) = 0

        # The worker's side: outputs of a transaction are there when it is through, others at once.

        def transactional? = @transactional
        def init_transactions = nil

        def begin_batch
          @begun = [] if @transactional
        end

        def await_deliveries(*)
          @produced.concat(@begun.to_a)
          @begun = nil
          true
        end

        def abort_batch = @begun = nil
        def inspect = "#<Skep::Kafka::Testing::FakeProducer produced=#{@produced.size}>"
      end

      # One for each worker of a run.
      FakeProducers = Struct.new(:produced, :transactional) do
        def for_thread(child, _thread)
          FakeProducer.new(produced, transactional:).tap { |producer| child.__lend(producer) }
        end
      end
    end
  end
end
