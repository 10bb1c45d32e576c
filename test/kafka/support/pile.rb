# frozen_string_literal: true

require "skep/kafka"

module Skep
  module Kafka
    # Writes messages in one piece: those of a partition come together to whoever reads it, however
    # late a thread may be. None is sent before all of them are here and have their partition.
    #
    #   pile = Pile.new(broker.bootstrap_servers)
    #   pile.write("orders", [["key", "payload", 0]])    # when all have arrived
    #   pile.close
    class Pile < Sender
      SECONDS = 30
      TURN_MS = 10 # librdkafka waits so long for what we are to take note of
      private_constant :SECONDS, :TURN_MS

      def initialize(brokers)
        super({ "bootstrap.servers" => brokers, "linger.ms" => "60000" })
      end

      # Items are [key, payload, partition]; the last of these may be missing.
      def write(topic, items)
        @missing = items.size
        items.each { |key, payload, partition| take(topic, key, payload, partition:) }
        find(topic)
        by = OS.now + SECONDS
        send_some until @missing.zero? || OS.now > by
        raise NotDelivered.new(topic:, cause: @cause || "#{@missing} left") if @missing.positive?
      end

      private

      def take(topic, *message, **more)
        code = put(topic, *message, **more)
        raise NotDelivered.new(topic:, cause: Native.err2str(code)) unless code.zero?
      end

      # Once its partitions are known, its messages have theirs.
      def find(topic)
        topics = Topics.new(self, [topic]).tap(&:start)
        topics.io.wait_readable(SECONDS)
      ensure
        topics&.close
      end

      def send_some
        flush(TURN_MS)
        control.drain do |event|
          event.deliveries.each { |code,| count(code) } if event.kind == :delivery
        end
      end

      def count(code)
        code.zero? ? @missing -= 1 : @cause = Native.err2str(code)
      end
    end
  end
end
