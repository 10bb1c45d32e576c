# frozen_string_literal: true

# Shared by the producers: checks the arguments of `produce`, and `produce_sync`.
module Skep
  module Kafka
    class Producer
      module ProduceMethods
        TOPIC = /\A[^\0]{1,249}\z/ # the brokers check the characters
        PARTITIONS = (..(2**31) - 1)
        private_constant :TOPIC, :PARTITIONS

        # Raises ArgumentError for arguments that would crash librdkafka, or that it would
        # misinterpret.
        #: (String, String?, String?, Integer?, ?Hash[untyped, untyped]?) -> void
        def self.check(topic, payload, key, partition, headers = nil)
          reject("topic", topic, "a topic's name") unless TOPIC.match?(topic)
          reject("payload", payload, "a String, or nil") unless text?(payload)
          reject("key", key, "a String, or nil") unless text?(key)
          check_headers(headers) if headers
          return if partition.nil? || (partition.is_a?(Integer) && PARTITIONS.cover?(partition))

          reject("partition", partition, "a partition's number")
        end

        def self.check_headers(headers)
          reject("headers", headers, "a Hash") unless headers.respond_to?(:each)
          headers.each do |name, value|
            valid = name.is_a?(String) || name.is_a?(Symbol)
            reject("headers", name, "names that are Strings or Symbols") unless valid
            next if text?(value) || (value.is_a?(Array) && value.all? { |item| text?(item) })

            reject("headers: #{name}", value, "a String, nil, or an Array of those")
          end
        end

        def self.reject(name, value, expected)
          actual = value.inspect
          actual = "#{value.class}: #{actual[0, 40]}…" if actual.size > 50
          raise ArgumentError, "#{name}: must be #{expected}, not #{actual}"
        end

        def self.text?(value) = value.nil? || value.is_a?(String)
        private_class_method :check_headers, :reject, :text?

        # Produces a message and waits for its delivery. Returns a DeliveryReport, or raises
        # DeliveryFailed.
        #: (String, String?, ?timeout: Numeric?, **untyped) -> DeliveryReport
        def produce_sync(topic, payload = nil, timeout: nil, **more)
          produce(topic, payload, **more).wait(timeout:)
        end
      end
    end
  end
end
