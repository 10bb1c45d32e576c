# frozen_string_literal: true

# One message as it was read, its native memory already given back.
#
#   message.payload    # => "…" the bytes (binary encoding), nil for a tombstone
#   message.key        # => "…" or nil
#   message.headers    # => { "trace" => "…", "via" => ["…", "…"] }, an Array where one is repeated
#   message.timestamp  # => Time, or nil where the broker has none
#
# It can be marshalled, and so come out of a Skep.map; what comes back lies in no haul. Neither does
# a `dup`, which is what to keep for long (a message keeps its whole batch), or to give to a Ractor.
module Skep
  module Kafka
    class Message
      attr_reader :topic #: String, it was read from
      attr_reader :partition #: Integer, of the topic
      attr_reader :offset #: Integer, its place in the partition
      attr_reader :key #: String?, binary; nil: it has none
      attr_reader :payload #: String?, binary; nil: a tombstone
      # By name; of several of one name an Array, in their order.
      attr_reader :headers #: Hash[String, String? | Array[String?]]
      attr_reader :milliseconds #: Integer, the timestamp since 1970, -1 where there is none

      def initialize(topic, partition, offset, key, payload, milliseconds, headers)
        @topic = topic
        @partition = partition
        @offset = offset
        @milliseconds = milliseconds
        @read = [key, payload, headers]
        __reset_strings
      end

      # When it was written, or appended (the topic's message.timestamp.type says which); nil where
      # the broker has no time.
      #: () -> Time?
      def timestamp = milliseconds.negative? ? nil : Time.at(0, milliseconds, :millisecond)

      def self._load(fields) #: (String) -> Message
        Message.new(*Marshal.load(fields)) # rubocop:disable Security/MarshalLoad -- it came by one
      end

      def _dump(_depth) = Marshal.dump(fields) #: (Integer) -> String

      def dup = Message.new(*fields) #: () -> Message
      alias clone dup

      # The same one by its place, whatever a handler has made of its strings: each loop over a
      # batch gives out Messages of its own.
      #: (untyped) -> bool
      def ==(other)
        other.is_a?(Message) && offset == other.offset && partition == other.partition &&
          topic == other.topic
      end
      alias eql? ==

      # Those that are equal have one.
      def hash = offset.hash #: () -> Integer

      # As it was read: a handler may have changed its strings in place.
      def __reset_strings #: () -> void
        return if frozen? # with its strings, as a Ractor wants it

        @key, @payload, headers = @read.map(&:dup)
        @headers = headers.transform_values do |value|
          value.is_a?(Array) ? value.map(&:dup) : value.dup
        end.freeze
      end

      def inspect #: () -> String
        size = payload ? "#{payload.bytesize} bytes" : "tombstone"
        "#<Skep::Kafka::Message #{topic}/#{partition}/#{offset} #{size}>"
      end

      private

      def fields = [topic, partition, offset, key, payload, milliseconds, headers]

      # What the C makes: one that lies in a haul. It is here too, as one that was marshalled may
      # come back where there is no C.
      Packed = Class.new(self)
      private_constant :Packed
    end
  end
end
