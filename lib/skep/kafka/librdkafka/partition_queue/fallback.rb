# frozen_string_literal: true

module Skep
  module Kafka
    module Librdkafka
      class PartitionQueue
        # Reads over FFI. Slower than the C extension: each message costs several calls, and its
        # strings are copied whether they are used or not.
        module Fallback
          # As in C: messages that were dequeued but couldn't be returned (out of memory) are
          # returned first by the next read.
          #: (Integer) -> [MessageSet, Array[[Integer, String, Integer]], Integer]
          def read(limit)
            raise IOError, "closed partition queue" unless @queue

            fetch(limit) if @taken.empty?
            count = @taken.size
            messages = []
            errors = []
            @taken.each { |address| take(address, messages, errors) }
            give_back
            [MessageSet.new(messages), errors, count]
          end

          private

          def detach
            give_back
            @queue = nil
          end

          def attach(address, _topic, _partition, limit)
            @queue = FFI::Pointer.new(address)
            @limit = limit
            @slots = FFI::MemoryPointer.new(:pointer, limit)
            @words = Array.new(4) { FFI::MemoryPointer.new(:uint64) }
            @taken = [] # addresses of dequeued messages that aren't destroyed yet
          end

          def fetch(limit)
            count = Bindings.consume_batch_queue(@queue, 0, @slots, [limit, @limit].min)
            @taken = @slots.read_array_of_uint64([count, 0].max)
          end

          # Destroys no message twice if an exception interrupts it.
          def give_back
            Bindings.message_destroy(@taken.shift) until @taken.empty?
          end

          def take(address, messages, errors)
            code, _, _, body, size, *rest =
              Bindings.bytes(address, Bindings::MESSAGE_BYTES).unpack(Bindings::MESSAGE)
            payload = Bindings.bytes(body, size) unless body.zero?
            if code.zero?
              messages << message(address, payload, *rest)
            else
              errors << [code, payload || Bindings.err2str(code), rest.last]
            end
          end

          def message(address, payload, key, key_size, offset)
            key = key.zero? ? nil : Bindings.bytes(key, key_size)
            milliseconds = Bindings.message_timestamp(address, nil)
            Message.new(@topic, @partition, offset, key, payload, milliseconds, headers(address))
          end

          def headers(address)
            list = @words.first
            return NO_HEADERS unless Bindings.message_headers(address, list).zero?

            list = list.read_pointer
            found = (0..).lazy.map { |index| header(list, index) }.take_while(&:itself).to_a
            found.group_by(&:first).transform_values { |some| values(some.map(&:last)) }.freeze
          end

          # The values of a repeated name are an Array, in their order.
          def values(some) = some.size == 1 ? some.first : some

          def header(list, index)
            name, value, size = @words.drop(1)
            return unless Bindings.header_get_all(list, index, name, value, size).zero?

            at = value.read_uint64
            [Bindings.text(name.read_uint64), at.zero? ? nil : Bindings.bytes(at, size.read_uint64)]
          end
        end
      end
    end
  end
end
