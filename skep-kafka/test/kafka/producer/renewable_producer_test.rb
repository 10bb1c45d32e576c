# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "support/fakes"

module Skep
  module Kafka
    class Producer
      # When the producer that a node's threads share is replaced.
      class RenewableProducerTest < ::Skep::TestCase
        # A Mutex that reports a thread before it waits.
        class ReportingLock < Mutex
          def initialize(reports)
            super()
            @reports = reports
          end

          def synchronize
            @reports << :waits if locked?
            super
          end
        end

        def setup
          super
          options = Struct.new(:producer).new({})
          @renewable_producer = RenewableProducer.new(options, nil)
          producers = @producers = []
          @renewable_producer.define_singleton_method(:make) { producers.shift }
        end

        test "makes another producer after discard, and after renew if the error was fatal" do
          @producers.push(Fakes::Producer.new(nil), Fakes::Producer.new("fenced"), Fakes::Producer.new(nil))
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

        test "is renewed once if two threads find the same fatal error" do
          other = nil
          progress = Thread::Queue.new
          renewable_producer = @renewable_producer
          renewable_producer.instance_variable_set(:@lock, ReportingLock.new(progress))
          failed = Fakes::Producer.new("fenced") do
            next if Thread.current.equal?(other)

            other = Thread.new do
              renewable_producer.renew
              renewable_producer.producer
            ensure
              progress << :done
            end
            progress.pop # the other thread waits for this one, or is done
          end
          healthy = Fakes::Producer.new(nil)
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
