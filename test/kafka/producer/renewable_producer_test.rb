# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    class Producer
      # When the producer that a node's threads share is replaced.
      class RenewableProducerTest < ::Skep::TestCase
        # Has a fatal error, or none; the block runs when it is asked for that.
        class FakeProducer
          attr_reader :close_timeout

          def initialize(fatal, &on_fatal) = (@fatal, @on_fatal = fatal, on_fatal)
          def fatal = @on_fatal&.call || @fatal
          def close(timeout:) = @close_timeout = timeout
        end

        def setup
          super
          options = Struct.new(:producer).new({})
          @renewable_producer = RenewableProducer.new(options, nil)
          producers = @producers = []
          @renewable_producer.define_singleton_method(:make) { producers.shift }
        end

        test "makes another producer after discard, and after renew if the error was fatal" do
          @producers.push(FakeProducer.new(nil), FakeProducer.new("fenced"), FakeProducer.new(nil))
          first = @renewable_producer.producer
          @renewable_producer.renew
          assert_same first, @renewable_producer.producer
          @renewable_producer.discard
          assert_equal 0, first.close_timeout
          second = @renewable_producer.producer
          @renewable_producer.renew
          refute_same second, @renewable_producer.producer
          assert_equal 0, second.close_timeout
        end

        test "is renewed once if two threads meet the same fatal error" do
          other = nil
          renewable_producer = @renewable_producer
          failed = FakeProducer.new("fenced") do
            next if Thread.current.equal?(other)

            other = Thread.new { [renewable_producer.renew, renewable_producer.producer].last }
            other.join(0.1) # it has renewed the producer, or waits for this thread
          end
          healthy = FakeProducer.new(nil)
          @producers.push(failed, healthy)
          @renewable_producer.producer
          @renewable_producer.renew

          assert_same healthy, other.value
          assert_same healthy, @renewable_producer.producer
          assert_nil healthy.close_timeout
        end
      end
    end
  end
end
