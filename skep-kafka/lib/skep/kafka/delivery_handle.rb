# frozen_string_literal: true

# The handle of a message that was produced: waits for its delivery report.
#
#   handle = node.producer.produce("orders.done", "payload")
#   handle.wait(timeout: 5)     # => a DeliveryReport, or raises DeliveryFailed
#   handle.done?                # true once it was delivered, or failed
#   handle.error                # nil, or the DeliveryFailed
#
# A program doesn't have to wait: a failure of a message without a waiting caller is reported.
module Skep
  module Kafka
    # Where a message was written.
    #
    #   report.topic        # => String
    #   report.partition    # => Integer
    #   report.offset       # => Integer
    DeliveryReport = Struct.new(:topic, :partition, :offset) do
      def to_s = "#{topic}/#{partition}/#{offset}"
    end

    class DeliveryHandle
      attr_reader :topic # as it was given to `produce`
      attr_reader :error # nil while it is in flight and once it is delivered
      attr_reader :report # nil while it is in flight and if it failed

      # claimed: the caller checks the handle, so a failure isn't reported.
      def initialize(topic, in_flight, claimed: false)
        @topic = topic
        @in_flight = in_flight
        @claimed = claimed
      end

      # Waits up to `timeout` seconds (nil: no limit) until the brokers have acknowledged the
      # message. Raises DeliveryFailed if they refused it, if librdkafka gave up, or after the
      # timeout (the message may be delivered later then).
      def wait(timeout: nil)
        @claimed = true
        @in_flight.wait(timeout) { done? }
        return report if report

        @heard = !error.nil?
        raise error || DeliveryFailed.new(topic:, cause: "no answer within #{timeout} s")
      end

      # Returns true once the message was delivered or has failed.
      def done? = !(report || error).nil?

      # Returns true if a `wait` raised the error.
      def heard? = @heard ? true : false

      # Returns true if a caller checks the handle.
      def claimed? = @claimed

      def inspect
        state = report || "#{topic} #{error ? "failed" : "in flight"}"
        "#<Skep::Kafka::DeliveryHandle #{state}>"
      end

      # Called by the producer.

      def __arrived(partition, offset)
        @report = DeliveryReport.new(topic, partition, offset)
      end

      def __failed(error) = @error = error

      # Waits up to `seconds` without waiting for linger.ms; returns true once it is done.
      def __await(seconds) = done? || @in_flight.flush_until(seconds) { done? }

      # No caller claims it any more: its failure is reported.
      def __release
        @in_flight.release(self) { @claimed = false }
      end
    end
  end
end
