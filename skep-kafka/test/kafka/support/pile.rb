# frozen_string_literal: true

require "skep/kafka"

module Skep
  module Kafka
    # Writes the messages of each partition in one batch, so that a consumer reads them together. It
    # sends none before all are produced and have their partition.
    #
    #   pile = Pile.new(broker.bootstrap_servers)
    #   pile.write("orders", [["key", "payload", 0]])    # returns when all have arrived
    #   pile.close
    class Pile < Producer::SyncProducer
      SECONDS = 30
      TURN_MS = 10 # librdkafka waits so long before `poll` can handle delivery reports
      private_constant :SECONDS, :TURN_MS

      def initialize(brokers)
        super({ "bootstrap.servers" => brokers, "linger.ms" => "60000" })
      end

      # Items are [key, payload, partition]; the partition may be missing.
      def write(topic, items, headers: nil)
        arrived = delivered + items.size
        items.each { |key, payload, partition| put(topic, key, payload, headers, partition:) }
        find(topic)
        send_all(OS.now + SECONDS)
        left = arrived - delivered
        raise DeliveryFailed.new(topic:, cause: cause || "#{left} left") if left.positive?
      end

      private

      # Queries the topic's partitions: librdkafka assigns them to the messages then.
      def find(topic)
        topics = Librdkafka::MetadataQuery.new(self, [topic]).tap(&:start)
        topics.io.wait_readable(SECONDS)
      ensure
        topics&.close
      end

      # SyncProducer#flush would wait for linger.ms.
      def send_all(deadline)
        until waiting.zero? || OS.now > deadline
          Librdkafka::Bindings.flush(handle, TURN_MS)
          poll
        end
      end
    end
  end
end
