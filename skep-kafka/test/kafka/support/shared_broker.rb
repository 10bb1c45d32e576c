# frozen_string_literal: true

require "skep/kafka"

# One embedded broker for all tests of this process that need one: a start takes 0.3 s, a reset one
# millisecond. It stops before a test that needs none, because that may wait for all children.
module SharedBroker
  class << self
    # Starts the broker, unless it runs. Raises MissingGem.
    def start
      running? or @broker = Skep::Kafka::EmbeddedBroker.start
      @owner = Process.pid
    end

    # Returns the broker, with only these topics and no message.
    def with(topics)
      @broker.reset(topics:)
      @broker
    end

    def stop
      @broker.stop if running?
      @broker = nil
    end

    private

    # A test may have stopped the broker, and a forked process has none.
    def running? = @broker&.pid && @owner == Process.pid
  end
end
