# frozen_string_literal: true

# What everyone can do who can produce a message.
module Skep
  module Kafka
    class Producer
      module ProduceMethods
        TOPIC = /\A[^\0]{1,249}\z/ # by Kafka's limit; the brokers know more
        PARTITIONS = (..(2**31) - 1)
        private_constant :TOPIC, :PARTITIONS

        # Raises ArgumentError for what librdkafka would crash at, or take for something else.
        def self.check(topic, payload, key, partition, headers = nil)
          #: (String, String?, String?, Integer?, ?Hash[untyped, untyped]?) -> void
          complain("topic", topic, "a topic's name") unless TOPIC.match?(topic)
          complain("payload", payload, "a String, or nil") unless text?(payload)
          complain("key", key, "a String, or nil") unless text?(key)
          check_headers(headers) if headers
          return if partition.nil? || (partition.is_a?(Integer) && PARTITIONS.cover?(partition))

          complain("partition", partition, "a partition's number")
        end

        def self.check_headers(headers)
          complain("headers", headers, "a Hash") unless headers.respond_to?(:each)
          headers.each do |name, value|
            known = name.is_a?(String) || name.is_a?(Symbol)
            complain("headers", name, "names that are Strings or Symbols") unless known
            next if text?(value) || (value.is_a?(Array) && value.all? { |one| text?(one) })

            complain("headers: #{name}", value, "a String, nil, or an Array of those")
          end
        end

        def self.complain(name, value, wanted)
          given = value.inspect
          given = "#{value.class}: #{given[0, 40]}…" if given.size > 50
          raise ArgumentError, "#{name}: must be #{wanted}, not #{given}"
        end

        def self.text?(value) = value.nil? || value.is_a?(String)
        private_class_method :check_headers, :complain, :text?

        # Produces a message and waits for it: its DeliveryReport, or DeliveryFailed.
        #: (String, String?, ?timeout: Numeric?, **untyped) -> DeliveryReport
        def produce_sync(topic, payload = nil, timeout: nil, **more)
          produce(topic, payload, **more).wait(timeout:)
        end
      end
    end
  end
end
