# frozen_string_literal: true

require "skep/kafka"

# One embedded broker for the tests of this process that need one, until a test comes that doesn't
# (which may wait for all children): a start takes 0.3 s, and emptying it a millisecond.
module SharedBroker
  class << self
    # Starts it, unless it runs. Raises MissingGem.
    def start
      running? or @broker = Skep::Kafka::EmbeddedBroker.start
      @owner = Process.pid
    end

    # Returns it, with only these topics and no message.
    def with(topics)
      @broker.reset(topics:)
      @broker
    end

    def stop
      @broker.stop if running?
      @broker = nil
    end

    private

    # A test may have stopped it, and a forked process has none yet.
    def running? = @broker&.pid && @owner == Process.pid
  end
end
