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
          def read(limit)
            raise IOError, "closed partition queue" unless @queue

            fetch(limit) if @taken.empty?
            count = @taken.size
            messages = []
            errors = []
            @taken.each { |pointer| take(pointer, messages, errors) }
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
            @words = Array.new(4) { FFI::MemoryPointer.new(:pointer) }
            @taken = [] # pointers to dequeued messages that aren't destroyed yet
          end

          def fetch(limit)
            count = Bindings.consume_batch_queue(@queue, 0, @slots, [limit, @limit].min)
            @taken = @slots.read_array_of_pointer([count, 0].max)
          end

          # Destroys no message twice if an exception interrupts it.
          def give_back
            Bindings.message_destroy(@taken.shift) until @taken.empty?
          end

          def take(pointer, messages, errors)
            fields = Bindings::Structs::Message.new(pointer)
            code, payload = fields[:err], bytes(fields[:payload], fields[:len])
            if code.zero?
              messages << message(pointer, fields, payload)
            else
              errors << [code, payload || Bindings.err2str(code), fields[:offset]]
            end
          end

          def message(pointer, fields, payload)
            key = bytes(fields[:key], fields[:key_len])
            milliseconds = Bindings.message_timestamp(pointer, nil)
            Message.new(@topic, @partition, fields[:offset], key, payload, milliseconds,
                        headers(pointer))
          end

          def bytes(pointer, size) = pointer.null? ? nil : pointer.read_bytes(size)

          def headers(pointer)
            list = @words.first
            return NO_HEADERS unless Bindings.message_headers(pointer, list).zero?

            list = list.read_pointer
            found = (0..).lazy.map { |index| header(list, index) }.take_while(&:itself).to_a
            found.group_by(&:first).transform_values { |some| values(some.map(&:last)) }.freeze
          end

          # The values of a repeated name are an Array, in their order.
          def values(some) = some.size == 1 ? some.first : some

          def header(list, index)
            name, value, size = @words.drop(1)
            return unless Bindings.header_get_all(list, index, name, value, size).zero?

            [Bindings.text(name.read_pointer), bytes(value.read_pointer, size.read(:size_t))]
          end
        end
      end
    end
  end
end
