# frozen_string_literal: true

# Lets a partition go on somewhere else, and commits that: a node that dies meanwhile is succeeded
# by one that begins there.
#
#   seeker = Seeker.new(consumer, report)
#   seeker.call("orders", 3, :beginning)       # => 0, the offset at which it goes on
#   seeker.call("orders", 3, Time.now - 3600)  # an Integer and :end, too
#
# Waits for the broker; raises LibrdkafkaError where that doesn't answer, and nothing has moved
# then.
module Skep
  module Kafka
    class Consumer
      class Seeker
        SECONDS = 5.0
        private_constant :SECONDS

        def initialize(consumer, report) #: (Consumer, Metrics::EventReporter) -> void
          @consumer = consumer
          @report = report
        end

        #: (String, Integer, Integer | Symbol | Time) -> Integer
        def call(topic, number, place)
          offset = place.is_a?(Integer) ? place : @consumer.find([topic, number], place, SECONDS)
          @consumer.move([[topic, number, offset]], SECONDS)
          @report.tell(:kafka_seek, topic:, partition: number, to: place.to_s, offset:)
          offset
        end

        def inspect = "#<Skep::Kafka::Consumer::Seeker of #{@consumer.inspect}>" #: () -> String
      end
    end
  end
end
