# frozen_string_literal: true

require "skep/kafka/librdkafka/bindings/functions"

# librdkafka's C functions, as far as this room needs them.
#
#   Bindings.load                    # finds the gem, opens its library, binds; once a process
#   Bindings.conf_new                # rd_kafka_conf_new, and so on for all of Functions
#   Bindings.bytes(address, length)  # memory as a String
#
# Only the library of karafka-rdkafka is used, not its Ruby: that part answers librdkafka through
# callbacks, and FFI runs callbacks on a Ruby thread of its own which a fork loses. Here everything
# comes out of queues that skep reads.
module Skep
  module Kafka
    module Librdkafka
      module Bindings
        PRODUCER = 0
        CONSUMER = 1

        # rd_kafka_message_t: err, rkt, partition, payload, len, key, key_len, offset
        MESSAGE = "lx4Qlx4QQQQq"
        MESSAGE_BYTES = 64

        # rd_kafka_topic_partition_t: topic, partition, offset, metadata, its size, opaque, err
        PARTITION = "Qlx4qQQQl"
        PARTITION_BYTES = 64

        # RTLD_NODELETE, dlopen(3)
        NO_DELETE = RbConfig::CONFIG["host_os"].include?("darwin") ? 0x80 : 0x1000
        private_constant :NO_DELETE

        @lock = Mutex.new

        class << self
          # Opens the library; raises GemMissing. Starts no thread, so that the mold may do it.
          def load #: () -> void
            @lock.synchronize { @memory ||= bind(SharedLibrary.path) }
          end

          # The bytes at an address that a native structure holds.
          #: (Integer, Integer) -> String
          def bytes(address, length) = @memory.get_bytes(address - 1, length)

          # Bindings text at an address, or nil.
          def text(address) #: (Integer) -> String?
            @memory.get_string(address - 1).force_encoding(Encoding::UTF_8) unless address.zero?
          end

          # Runs the block with a buffer for an error's text: what it gave, and the text.
          #: () { (FFI::MemoryPointer, Integer) -> untyped } -> [untyped, String]
          def complaint
            buffer = FFI::MemoryPointer.new(:char, 512)
            [yield(buffer, 512), buffer.read_string]
          end

          private

          # The library is never unloaded: a client that an exit cut short still runs in it.
          # The pointer that reaches all memory starts at 1, since FFI takes 0 for no pointer.
          def bind(path)
            extend FFI::Library
            FFI::DynamicLibrary.open(path, FFI::DynamicLibrary::RTLD_LAZY | NO_DELETE)
            ffi_lib path
            PartitionQueue.bind(path) if PartitionQueue.native?
            Functions.each do |name, function, takes, gives, waits|
              attach_function name, function, takes, gives, blocking: waits
            end
            FFI::Pointer.new(1)
          end
        end
      end
    end
  end
end
