# frozen_string_literal: true

# Takes messages out of a partition's native queue, many with one call, and turns them into Ruby's.
#
#   reader = Reader.new(queue, "orders", 500)
#   messages, errors, count = reader.read(500)   # what is there now, so many at most; never waits
#
# An error of the partition comes through the same queue and is given as its code and text.
module Skep
  module Kafka
    class Reader
      NO_HEADERS = {}.freeze
      private_constant :NO_HEADERS

      def initialize(queue, topic, limit) #: (FFI::Pointer, String, Integer) -> void
        @queue = queue
        @topic = topic
        @slots = FFI::MemoryPointer.new(:pointer, limit)
        @words = Array.new(4) { FFI::MemoryPointer.new(:uint64) }
      end

      def read(limit) #: (Integer) -> [Array[Message], Array[[Integer, String]], Integer]
        count = [Native.consume_batch_queue(@queue, 0, @slots, limit), 0].max
        messages = []
        errors = []
        @slots.read_array_of_uint64(count).each { |address| take(address, messages, errors) }
        [messages, errors, count]
      end

      private

      def take(address, messages, errors)
        code, _, partition, body, size, *rest =
          Native.bytes(address, Native::MESSAGE_BYTES).unpack(Native::MESSAGE)
        payload = Native.bytes(body, size) unless body.zero?
        if code.zero?
          messages << message(address, partition, payload, *rest)
        else
          errors << [code, payload || Native.err2str(code)]
        end
        Native.message_destroy(address)
      end

      def message(address, partition, payload, key, key_size, offset)
        key = key.zero? ? nil : Native.bytes(key, key_size)
        milliseconds = Native.message_timestamp(address, nil)
        Message.new(@topic, partition, offset, key, payload, milliseconds, headers(address))
      end

      def headers(address)
        list = @words.first
        return NO_HEADERS unless Native.message_headers(address, list).zero?

        list = list.read_pointer
        found = (0..).lazy.map { |index| header(list, index) }.take_while(&:itself)
        found.to_h.freeze
      end

      def header(list, index)
        name, value, size = @words.drop(1)
        return unless Native.header_get_all(list, index, name, value, size).zero?

        at = value.read_uint64
        [Native.text(name.read_uint64), at.zero? ? nil : Native.bytes(at, size.read_uint64)]
      end
    end
    private_constant :Reader
  end
end
