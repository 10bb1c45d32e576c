# frozen_string_literal: true

# The embedded Kafka broker, for the keepers that need one.
#
#   Broker.during(busy: true) { |environment| … }   # with a message that waits in the topic
#
# The environment tells the program where it is. Raises Contender::Skipped where there can be none.
module Skep
  module CLI
    class Bench
      module Broker
        TOPIC = "work"
        private_constant :TOPIC

        #: (busy: bool) { (Hash[String, String]) -> untyped } -> untyped
        def self.during(busy:)
          require "skep/kafka"
          broker = Skep::Kafka::EmbeddedBroker.start(topics: { TOPIC => 2 })
          publish(broker.bootstrap_servers) if busy
          yield("SKEP_BENCH_BROKERS" => broker.bootstrap_servers)
        rescue Skep::Kafka::GemMissing => e
          raise Contender::Skipped, e.message
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
end
