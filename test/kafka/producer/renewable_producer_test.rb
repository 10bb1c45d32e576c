# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

# Which producer the threads of a node share.
class KafkaPressTest < Skep::TestCase
  # One that failed for good, or didn't. Whoever asks lets others go on first.
  class Made
    attr_reader :closed

    def initialize(failed, &meanwhile) = (@failed, @meanwhile = failed, meanwhile)
    def fatal = @meanwhile&.call || @failed
    def close(timeout:) = @closed = timeout
  end

  def setup
    super
    @renewable_producer = Skep::Kafka::Producer::RenewableProducer.new(
                                                                       Struct.new(:producer).new({}), nil)
    @next = []
    made = @next
    @renewable_producer.define_singleton_method(:make) { made.shift }
  end

  test "makes another one once it failed for good" do
    @next.push(Made.new(nil), Made.new("fenced"), Made.new(nil))
    first = @renewable_producer.producer
    @renewable_producer.renew
    assert_same first, @renewable_producer.producer
    @renewable_producer.discard
    assert_equal 0, first.closed
    second = @renewable_producer.producer
    @renewable_producer.renew
    refute_same second, @renewable_producer.producer
    assert_equal 0, second.closed
  end

  test "is renewed once, where two threads see it fail" do
    other = nil
    renewable_producer = @renewable_producer
    failed = Made.new("fenced") do
      next if Thread.current.equal?(other)

      other = Thread.new { [renewable_producer.renew, renewable_producer.producer].last }
      other.join(0.1) # it is through, or waits for us
    end
    healthy = Made.new(nil)
    @next.push(failed, healthy)
    @renewable_producer.producer
    @renewable_producer.renew

    assert_same healthy, other.value
    assert_same healthy, @renewable_producer.producer
    assert_nil healthy.closed
  end
end
