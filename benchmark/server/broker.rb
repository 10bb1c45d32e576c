# frozen_string_literal: true

# The embedded Kafka broker, for the servers that need one.
#
#   Broker.during(busy: true) { |environment| … }   # with a message in the topic
#
# The environment has the broker's address. Raises Subject::Skipped if no broker can run here.
module Skep
  module Benchmarks
    module Broker
      TOPIC = "work"
      private_constant :TOPIC

      def self.during(busy:)
        require "skep/kafka"
        broker = Skep::Kafka::EmbeddedBroker.start(topics: { TOPIC => 2 })
        publish(broker.bootstrap_servers) if busy
        yield("SKEP_BENCH_BROKERS" => broker.bootstrap_servers)
      rescue Skep::Kafka::MissingGem => e
        raise Subject::Skipped, e.message
      ensure
        broker&.stop
      end

      def self.publish(bootstrap)
        feed = Skep::Kafka::Testing::TopicSeeder.new(bootstrap, TOPIC)
        feed.publish([%w[key payload]])
      ensure
        feed&.close
      end
      private_class_method :publish
    end
  end
end
