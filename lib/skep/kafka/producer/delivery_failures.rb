# frozen_string_literal: true

# Tells of messages that weren't delivered and that nobody asks about: the first at once, those that
# follow it within some seconds as a count.
#
#   undelivered = DeliveryFailures.new { |facts| child.event(:kafka_not_delivered, **facts) }
#   undelivered.add(delivery)
#   undelivered.tell            # what is still to be told
module Skep
  module Kafka
    class Producer
      class DeliveryFailures
        QUIET = 10.0 # seconds
        private_constant :QUIET

        #: (?clock: ^() -> Float) { (Hash[Symbol, untyped]) -> void } -> void
        def initialize(clock: OS.method(:now), &teller)
          @clock = clock
          @teller = teller
          @lock = Mutex.new
          @counts = Hash.new(0)
          @told_at = -Float::INFINITY
        end

        def add(delivery) #: (DeliveryHandle) -> void
          @lock.synchronize { @counts[[delivery.topic, delivery.error.why]] += 1 }
          tell if @clock.call - @told_at >= QUIET
        end

        def tell #: () -> void
          counts = @lock.synchronize do
            @told_at = @clock.call
            @counts.dup.tap { @counts.clear }
          end
          counts.each { |(topic, error), count| @teller.call({ topic:, error:, count: }) }
        end
      end
    end
  end
end
