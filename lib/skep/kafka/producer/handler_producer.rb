# frozen_string_literal: true

# What `child.producer` is for one handler at a time: a producer, shared with the node's other
# threads, whose messages belong to the batch in hand. The batch isn't done before all of them were
# acknowledged.
#
#   outlet = HandlerProducer.new(renewable_producer, child)
#   outlet.begin                     # a handler is to be called
#   outlet.produce("out", "payload")
#   outlet.seal(partition, offset)   # waits for it all; raises DeliveryFailed for what wasn't
#   outlet.abort                     # the handler raised
#
# What the handler itself has seen fail (a `wait` raised) is the handler's to judge.
module Skep
  module Kafka
    class Producer
      class HandlerProducer
        include ProduceMethods

        TURN = 1.0 # seconds of waiting between two looks whether to stop
        STOP_SECONDS = 10.0 # how long a stop waits for what is on its way
        private_constant :TURN, :STOP_SECONDS

        def initialize(renewable_producer, child) #: (RenewableProducer, Child) -> void
          @renewable_producer = renewable_producer
          @child = child
          @lock = Mutex.new
        end

        # See Producer#produce. May be called from threads that the handler has started.
        def produce(topic, payload = nil, key: nil, headers: nil, partition: nil, timestamp: nil)
          #: (String, String?, **untyped) -> DeliveryHandle
          more = { key:, headers:, partition:, timestamp:, claimed: true, child: @child }
          delivery = @renewable_producer.producer.__produce(topic, payload, **more)
          @lock.synchronize { @begun&.push(delivery) } || delivery.__release
          delivery
        end

        # Waits so many seconds at most for what the handler has produced so far. How many messages
        # haven't been answered for.
        def flush(seconds) #: (Numeric) -> Integer
          deadline = OS.now + seconds
          waiting = @lock.synchronize { @begun.to_a.reject(&:done?) }
          waiting.count { |delivery| !delivery.__await([deadline - OS.now, 0].max) }
        end

        # The worker's side.

        # Does `seal` hold the batch's offset, too?
        def atomic? = false #: () -> bool

        def begin #: () -> void
          @broken = nil
          @begun = []
        end

        # Is the batch done up to that offset, as far as its outputs go? Once it wasn't, it isn't
        # before the next `begin`.
        def seal(_partition, _offset) #: (Processing::AssignedPartition, Integer) -> bool
          raise @broken if @broken

          begun = take
          begun.each { |delivery| settle(delivery) }
          failed = begun.select { |delivery| delivery.error && !delivery.heard? }
          failed.empty? || raise(failure(failed))
        rescue DeliveryFailed => e
          @broken = e
          begun&.each { |delivery| delivery.__release unless delivery.done? }
          @renewable_producer.renew
          raise
        end

        # What is still on its way goes on; what of it fails is told.
        def abort #: () -> void
          @broken = nil
          take.each(&:__release)
        end

        def inspect
          "#<Skep::Kafka::Producer::HandlerProducer of #{@child.inspect}>"
        end #: () -> String

        private

        def take
          @lock.synchronize { @begun.to_a.tap { @begun = nil } }
        end

        # Whoever waits for a broker owes no beat.
        def patiently(&) = @child.busy(for: TURN * 5, &)

        def settle(delivery)
          return if delivery.done?

          until patiently { delivery.__await(TURN) }
            out_of_time!(delivery.topic) if @child.stopping?
          end
        end

        # At a stop nobody waits for ever: the batch isn't done then, and comes again.
        def out_of_time!(topic)
          @stop_at ||= OS.now + [STOP_SECONDS, (@child.time_left || STOP_SECONDS) / 2].min
          return if OS.now < @stop_at

          raise DeliveryFailed.new(topic:, cause: "no answer, and the node is to stop")
        end

        def failure(failed)
          first = failed.first
          DeliveryFailed.new(topic: first.topic, count: failed.size, cause: first.error.why,
                           code: first.error.code)
        end
      end
    end
  end
end
