# frozen_string_literal: true

require "skep/kafka"

# Messages in waves, until it is closed.
class Waves
  TOPICS = %w[orders orders orders refunds].freeze

  def initialize(address)
    producer = Skep::Kafka::Producer.new({ "bootstrap.servers": address })
    @stop, @stopper = IO.pipe
    @more = Queue.new
    @thread = Thread.new { run(producer) }
  end

  # Writes this payload among the others.
  def <<(payload) = @more << payload

  def run(producer)
    until @stop.wait_readable(0.25)
      height = 1 + Math.sin(Skep::OS.now / 9)
      (120 * height + rand(60)).round.times do |number|
        producer.produce(TOPICS[number % 4], "invoice #{number} " * 20, key: number.to_s)
      end
      produce_more(producer) until @more.empty?
    end
    producer.close
  end

  # The payload is its key, so that different ones are in different partitions.
  def produce_more(producer)
    payload = @more.pop
    producer.produce("orders", payload, key: payload)
  end

  def close
    @stopper.close
    @thread.join
  end
end
