# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "support/fakes"

module Skep
  module Kafka
    class Producer
      # Which messages a flush waits for, without librdkafka.
      class InFlightMessagesTest < ::Skep::TestCase
        # The fake client records each flush, and sends nothing.
        def setup
          super
          @flushes = Thread::Queue.new
          @in_flight = InFlightMessages.new(Fakes::FlushedClient.new(@flushes))
          @tags = []
        end

        test "a flush waits for messages in flight, and not for those that are added meanwhile" do
          2.times { add }
          flush = Thread.new { @in_flight.flush(30) }
          @flushes.pop
          add
          acknowledge(*@tags.first(2))
          assert_equal 0, flush.join(15)&.value
          assert_equal 1, @in_flight.size
        end

        test "a flush that times out returns how many messages are left" do
          3.times { add }
          acknowledge(@tags[1])
          assert_equal 2, @in_flight.flush(0)
          acknowledge(@tags[0], @tags[2])
          assert_equal 0, @in_flight.flush(0)
        end

        test "a flush waits for a message that another thread is adding" do
          results, inside, locking, go = Array.new(4) { Thread::Queue.new }
          adding = Thread.new { add { (inside << true) && go.pop } }
          inside.pop
          @in_flight.instance_variable_get(:@lock).define_singleton_method(:synchronize) do |&work|
            locking << true if locked?
            super(&work)
          end
          flush = Thread.new { results << @in_flight.flush(30) }
          locking.pop
          go << true
          adding.join
          assert @flushes.pop
          assert_empty results # the flush waits for it
          acknowledge(*@tags)
          assert_equal 0, results.pop
        ensure
          flush.join
        end

        test "a flush consists of short slices, none longer than its timeout" do
          add
          assert_equal 1, @in_flight.flush(0.05)
          slices = Array.new(@flushes.size) { @flushes.pop }
          assert_operator slices.max, :<=, 50
          assert_operator slices.size, :>, 1
        end

        test "no thread flushes a client that was released" do
          add
          @in_flight.release_client
          refute @in_flight.flush_until(0.01) { false }
          assert_empty @flushes
        end

        test "the client is released only once no thread is in a flush" do
          add
          go = Thread::Queue.new
          inside = @flushes
          client = Object.new
          client.define_singleton_method(:flush) { |_| (inside << true) && go.pop }
          in_flight = InFlightMessages.new(client)
          flush = Thread.new { in_flight.flush_until(30) { go.closed? } }
          inside.pop
          release = Thread.new { in_flight.release_client }
          assert_nil release.join(0.05)
          go.close
          assert release.join(15)
          assert flush.join(15).value
        end

        private

        def add
          handle = DeliveryHandle.new("orders", @in_flight)
          @in_flight.add(handle) do |tag|
            yield if block_given?
            (@tags << tag) && 0
          end
        end

        def acknowledge(*tags) = @in_flight.acknowledge(tags.map { |tag| [0, 0, 7, tag] })
      end
    end
  end
end
