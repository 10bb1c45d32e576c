# frozen_string_literal: true

# A message read from a topic: a copy, independent of librdkafka. With the C extension its payload,
# key and headers become Strings when they are first used (Packed, ext/skep_kafka/message.c).
#
#   message.payload    # => "…" the bytes (binary encoding), nil for a tombstone
#   message.value      # => what the source's `deserializer` made of the payload
#   message.key        # => "…" or nil
#   message.headers    # => { "trace" => "…", "via" => ["…", "…"] }, an Array where one is repeated
#   message.timestamp  # => Time, or nil where the broker has none
#
# It can be marshalled, and so returned from a Skep.map. A message keeps the memory of its whole
# batch; a `dup` and a marshalled copy don't: keep a `dup` for long, or give it to a Ractor.
module Skep
  module Kafka
    class Message
      attr_reader :topic # it was read from
      attr_reader :partition # of the topic
      attr_reader :offset # its place in the partition
      attr_reader :key # binary; nil: it has none
      attr_reader :payload # binary; nil: a tombstone
      # By name; the values of a repeated name are an Array, in their order.
      attr_reader :headers
      attr_reader :milliseconds # the timestamp since 1970, -1 where there is none, below: before

      def initialize(topic, partition, offset, key, payload, milliseconds, headers)
        @topic = topic
        @partition = partition
        @offset = offset
        @milliseconds = milliseconds
        @read = [key, payload, headers]
        __reset_strings
      end

      # Returns when it was created, or appended (the topic's message.timestamp.type says which);
      # nil if the broker has no timestamp.
      def timestamp = milliseconds == -1 ? nil : Time.at(0, milliseconds, :millisecond)

      # Returns what the source's `deserializer` made of the payload, nil for a tombstone; without a
      # deserializer, the payload.
      def value = @deserialized ? @value : payload

      def self._load(fields)
        *fields, values = Marshal.load(fields) # rubocop:disable Security/MarshalLoad -- ours
        message = Message.new(*fields)
        values.empty? ? message : message.__with_value(*values)
      end

      # The value, if it has one of a deserializer, must be one that can be marshalled.
      def _dump(_depth) = Marshal.dump([*fields, @deserialized ? [@value] : []])

      def dup
        copy = Message.new(*fields)
        @deserialized ? copy.__with_value(@value) : copy
      end
      alias clone dup

      # The message with this value; a copy of a frozen one.
      def __with_value(value)
        return dup.__with_value(value) if frozen?

        @deserialized = true
        @value = value
        self
      end

      # Compares topic, partition and offset: each loop over a batch makes new Message objects, and
      # a handler may have changed the strings.
      def ==(other)
        other.is_a?(Message) && offset == other.offset && partition == other.partition &&
          topic == other.topic
      end
      alias eql? ==

      # Equal messages have the same hash.
      def hash = offset.hash

      # Restores the strings as they were read: a handler may have changed them in place.
      def __reset_strings
        return if frozen? # with its strings, as a Ractor wants it

        @key, @payload, headers = @read.map(&:dup)
        @headers = headers.transform_values do |value|
          value.is_a?(Array) ? value.map(&:dup) : value.dup
        end.freeze
      end

      def inspect
        size = payload ? "#{payload.bytesize} bytes" : "tombstone"
        "#<Skep::Kafka::Message #{topic}/#{partition}/#{offset} #{size}>"
      end

      private

      def fields = [topic, partition, offset, key, payload, milliseconds, headers]

      # The subclass that the C extension makes, whose bytes lie in a message set. Defined here too:
      # a message marshalled with the C extension may be loaded without it.
      Packed = Class.new(self)
      private_constant :Packed
    end
  end
end
