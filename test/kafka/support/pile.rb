# frozen_string_literal: true

require "skep/kafka"

module Skep
  module Kafka
    # Writes messages in one piece: those of a partition are read together, however
    # late a thread may be. None is sent before all of them are here and have their partition.
    #
    #   pile = Pile.new(broker.bootstrap_servers)
    #   pile.write("orders", [["key", "payload", 0]])    # when all have arrived
    #   pile.close
    class Pile < Producer::SyncProducer
      SECONDS = 30
      TURN_MS = 10 # librdkafka waits so long for what we are to take note of
      private_constant :SECONDS, :TURN_MS

      def initialize(brokers)
        super({ "bootstrap.servers" => brokers, "linger.ms" => "60000" })
      end

      # Items are [key, payload, partition]; the last of these may be missing.
      def write(topic, items, headers: nil)
        arrived = delivered + items.size
        items.each { |key, payload, partition| put(topic, key, payload, headers, partition:) }
        find(topic)
        send_all(OS.now + SECONDS)
        left = arrived - delivered
        raise DeliveryFailed.new(topic:, cause: cause || "#{left} left") if left.positive?
      end

      private

      # Once its partitions are known, its messages have theirs.
      def find(topic)
        topics = Librdkafka::MetadataQuery.new(self, [topic]).tap(&:start)
        topics.io.wait_readable(SECONDS)
      ensure
        topics&.close
      end

      # A writer's flush would wait for the linger.
      def send_all(by)
        until waiting.zero? || OS.now > by
          Librdkafka::Bindings.flush(handle, TURN_MS)
          poll
        end
      end
    end
  end
end
