# frozen_string_literal: true

# What everyone can do who can produce a message.
module Skep
  module Kafka
    module Producing
      TOPIC = /\A[^\0]{1,249}\z/ # by Kafka's limit; the brokers know more
      PARTITIONS = (..(2**31) - 1)
      private_constant :TOPIC, :PARTITIONS

      # Raises ArgumentError for what librdkafka would crash at, or take for something else.
      def self.check(topic, payload, key, partition)
        #: (String, String?, String?, Integer?) -> void
        complain("topic", topic, "a topic's name") unless TOPIC.match?(topic)
        complain("payload", payload, "a String, or nil") unless text?(payload)
        complain("key", key, "a String, or nil") unless text?(key)
        return if partition.nil? || (partition.is_a?(Integer) && PARTITIONS.cover?(partition))

        complain("partition", partition, "a partition's number")
      end

      def self.complain(name, value, wanted)
        given = value.inspect
        given = "#{value.class}: #{given[0, 40]}…" if given.size > 50
        raise ArgumentError, "#{name}: must be #{wanted}, not #{given}"
      end

      def self.text?(value) = value.nil? || value.is_a?(String)
      private_class_method :complain, :text?

      # Produces a message and waits for it: its Place, or NotDelivered.
      #: (String, String?, ?timeout: Numeric?, **untyped) -> Place
      def produce_sync(topic, payload = nil, timeout: nil, **more)
        produce(topic, payload, **more).wait(timeout:)
      end
    end
    private_constant :Producing
  end
end
