# frozen_string_literal: true

# What became of a message that was produced: a handle on it.
#
#   delivery = child.producer.produce("orders.done", "payload")
#   delivery.wait(timeout: 5)     # => its DeliveryReport, or raises DeliveryFailed
#   delivery.done?                # has it been answered for?
#   delivery.error                # => nil, or why it wasn't delivered
#
# Nobody needs to wait: what wasn't delivered and isn't asked about is told.
module Skep
  module Kafka
    # Where a message lies.
    #
    #   place.topic        # => String
    #   place.partition    # => Integer
    #   place.offset       # => Integer
    DeliveryReport = Struct.new(:topic, :partition, :offset) do
      def to_s = "#{topic}/#{partition}/#{offset}" #: () -> String
    end

    class DeliveryHandle
      attr_reader :topic #: String, where it was sent to
      attr_reader :error #: DeliveryFailed?, why it isn't there; nil: it is, or nobody knows yet
      attr_reader :place #: DeliveryReport?, where it lies; nil: nowhere, or nobody knows yet

      # claimed: somebody will ask.
      #: (String, Producer::InFlightMessages, ?claimed: bool) -> void
      def initialize(topic, in_flight, claimed: false)
        @topic = topic
        @in_flight = in_flight
        @claimed = claimed
      end

      # Waits, at most so many seconds, until the broker has it. Raises DeliveryFailed if it was
      # refused, if librdkafka gave up, or if there was no answer in time (it may arrive then yet).
      #: (?timeout: Numeric?) -> DeliveryReport
      def wait(timeout: nil)
        @claimed = true
        @in_flight.wait(timeout) { done? }
        return place if place

        @heard = !error.nil?
        raise error || DeliveryFailed.new(topic:, cause: "no answer within #{timeout} s")
      end

      def done? = !(place || error).nil? #: () -> bool, has it arrived, or failed?

      # Did a wait raise its error?
      def heard? = @heard ? true : false #: () -> bool
      def claimed? = @claimed #: () -> bool, does somebody wait for it?

      def inspect #: () -> String
        "#<Skep::Kafka::DeliveryHandle #{place || "#{topic} #{error ? "failed" : "on its way"}"}>"
      end

      # The producer's side.

      def __arrived(partition, offset) #: (Integer, Integer) -> void
        @place = DeliveryReport.new(topic, partition, offset)
      end

      def __failed(error) = @error = error #: (DeliveryFailed) -> void

      # Has it sent at once, and waits so long; is it answered for?
      def __await(seconds) = done? || @in_flight.hasten(seconds) { done? } #: (Numeric) -> bool

      # Nobody will ask any more.
      def __release #: () -> void
        @in_flight.release(self) { @claimed = false }
      end
    end
  end
end
