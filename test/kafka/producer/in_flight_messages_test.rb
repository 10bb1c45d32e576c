# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # Who waits for which messages, without librdkafka.
    class OutboxTest < ::Skep::TestCase
      # Tells when somebody waits.
      Begun = Struct.new(:queue) { def while = queue.push(true) && yield }

      def setup
        super
        @in_flight = Producer::InFlightMessages.new
        @tags = []
      end

      test "a flush waits for what is in, and not for what others put in meanwhile" do
        2.times { post }
        @in_flight.hurry = Begun.new(Thread::Queue.new).tap { |one| @begun = one.queue }
        flush = Thread.new { @in_flight.flush(30) }
        @begun.pop
        post
        answer(*@tags.first(2))
        assert_equal 0, flush.join(15)&.value
        assert_equal 1, @in_flight.size
      end

      test "a flush out of time says how many are left of what was in" do
        3.times { post }
        answer(@tags[1])
        assert_equal 2, @in_flight.flush(0)
        answer(@tags[0], @tags[2])
        assert_equal 0, @in_flight.flush(0)
      end

      test "a flush waits for what another thread is just putting in, if it counts it" do
        told, inside, asked, go = Array.new(4) { Thread::Queue.new }
        @in_flight.hurry = Begun.new(told)
        putting = Thread.new { post { (inside << true) && go.pop } }
        inside.pop
        @in_flight.instance_variable_get(:@lock).define_singleton_method(:synchronize) do |&work|
          asked << true if locked?
          super(&work)
        end
        flush = Thread.new { told << @in_flight.flush(30) }
        asked.pop
        go << true
        putting.join
        assert_equal true, told.pop # it waits, and isn't through
        answer(*@tags)
        assert_equal 0, told.pop
      ensure
        flush.join
      end

      private

      def post
        delivery = DeliveryHandle.new("orders", @in_flight)
        @in_flight.post(delivery) do |tag|
          yield if block_given?
          (@tags << tag) && 0
        end
      end

      def answer(*tags) = @in_flight.answer(tags.map { |tag| [0, 0, 7, tag] })
    end
  end
end
