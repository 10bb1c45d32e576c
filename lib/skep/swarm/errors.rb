# frozen_string_literal: true

module Skep
  class Swarm
    # Raised by child.producer where the work has lent none.
    class NoProducer < Skep::Error
      def initialize #: () -> void
        super("child.producer is lent by a Kafka source to its handler, on the child that the " \
              "handler is given. Elsewhere make one of your own, after the fork: " \
              "Skep::Kafka::Producer.new({ \"bootstrap.servers\": \"…\" }, child:)")
      end
    end
  end
end
