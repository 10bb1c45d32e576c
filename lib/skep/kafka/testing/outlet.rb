# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # One message that a handler has produced.
      Produced = Struct.new(:topic, :payload, :key, :headers, :partition, :timestamp)

      # What `child.producer` is in a test: keeps what is produced, which arrives at once.
      #
      #   outlet.produce("out", "payload", key: "k").wait    # => its Place
      class Outlet
        Place = Struct.new(:topic, :partition, :offset)

        # A message on its way, which is there.
        Delivery = Struct.new(:place) do
          def wait(**) = place
          def done? = true
          def error = nil
          def topic = place.topic
        end
        private_constant :Place, :Delivery

        #: (Array[Produced], ?atomic: bool) -> void
        def initialize(produced, atomic: false)
          @produced = produced
          @atomic = atomic
          @offsets = Hash.new(-1)
        end

        #: (String, String?, ?key: String?, ?headers: Hash?, ?partition: Integer?,
        #:   ?timestamp: untyped) -> Delivery
        def produce(topic, payload = nil, key: nil, headers: nil, partition: nil, timestamp: nil)
          Producing.check(topic.to_s, payload, key, partition, headers)
          (@begun || @produced) << Produced.new(topic.to_s, payload, key, headers || {}, partition,
                                                timestamp)
          at = [topic.to_s, partition || 0]
          Delivery.new(Place.new(*at, @offsets[at] += 1))
        end

        def produce_sync(...) = produce(...).wait
        def flush(_seconds) = 0

        # The worker's side: outputs of a transaction are there when it is through, others at once.

        def atomic? = @atomic
        def open = nil

        def begin
          @begun = [] if @atomic
        end

        def seal(*)
          @produced.concat(@begun.to_a)
          @begun = nil
          true
        end

        def abort = @begun = nil
        def inspect = "#<Skep::Kafka::Testing::Outlet produced=#{@produced.size}>"
      end

      # One for each worker of a run.
      Outlets = Struct.new(:produced, :atomic) do
        def of(child, _thread)
          Outlet.new(produced, atomic:).tap { |outlet| child.__lend(outlet) }
        end
      end
      private_constant :Outlets
    end
  end
end
