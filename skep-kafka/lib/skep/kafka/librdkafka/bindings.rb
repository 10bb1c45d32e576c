# frozen_string_literal: true

require "skep/kafka/librdkafka/version"
require "skep/kafka/librdkafka/bindings/functions"

# librdkafka's C functions, bound with FFI.
#
#   Bindings.load                    # finds the library, opens it and binds; once per process
#   Bindings.conf_new                # rd_kafka_conf_new, and so on for all of Functions
#   Bindings.text(pointer)           # a C string as UTF-8
#   Bindings.library                 # => ".../karafka-rdkafka-0.21.0/ext/librdkafka.so"
#
# The library is that of the gem karafka-rdkafka, whose version the program's Gemfile may choose,
# within the bounds of skep-kafka. The gem's Ruby code isn't used: it registers callbacks, and FFI
# runs librdkafka's callbacks on a Ruby thread that a fork loses. skep polls librdkafka's queues
# instead.
module Skep
  module Kafka
    module Librdkafka
      module Bindings
        GEM = "karafka-rdkafka"

        PRODUCER = 0
        CONSUMER = 1

        # RTLD_NODELETE, dlopen(3)
        NO_DELETE = RbConfig::CONFIG["host_os"].include?("darwin") ? 0x80 : 0x1000
        private_constant :GEM, :NO_DELETE

        @lock = Mutex.new

        class << self
          # Opens the library; raises MissingGem, UnusableLibrdkafka or UnsupportedLibrdkafka.
          # Starts no thread, so that the mold may call it.
          def load
            @lock.synchronize { @bound ||= bind(library) }
          end

          # Returns the library's path; raises MissingGem.
          def library
            require "ffi"
            @library ||= File.expand_path("../../ext/librdkafka.#{suffix}", version_file)
          rescue ::LoadError => e # Gem::LoadError is one too: the gem, or ffi under it, is missing
            raise MissingGem.new(gem: GEM, cause: e.message.lines.first.to_s.chomp)
          end

          # Returns why there is no library that skep can use, or nil if there is one.
          def missing_library
            load && nil
          rescue MissingGem, UnusableLibrdkafka, UnsupportedLibrdkafka => e
            # The caller reports it beside other errors.
            e.message
          end

          # Returns a sentence on what the library lacks, nil if nothing, or if there is no library.
          def warning
            @version.warning(gem: gem_version) unless missing_library
          end

          # Returns the C string at a pointer, nil for a null pointer.
          def text(pointer)
            pointer.read_string.force_encoding(Encoding::UTF_8) unless pointer.null?
          end

          # Calls the block with a buffer for an error message and its size; returns what the block
          # returns, and the message.
          def with_error_buffer
            buffer = FFI::MemoryPointer.new(:char, 512)
            [yield(buffer, 512), buffer.read_string]
          end

          # Returns a C array of ints.
          def integers(numbers)
            FFI::MemoryPointer.new(:int, numbers.size).write_array_of_int(numbers)
          end

          private

          # The library is never unloaded: a client that an exit cut short still runs in it.
          def bind(path)
            require "skep/kafka/librdkafka/bindings/structs"
            extend FFI::Library
            open_library(path)
            ffi_lib path
            check_version
            PartitionQueue.bind(path) if PartitionQueue.native?
            Functions.each do |name, function, parameters, result, blocking|
              attach_function name, function, parameters, result, blocking:
            end
            true
          end

          def open_library(path)
            FFI::DynamicLibrary.open(path, FFI::DynamicLibrary::RTLD_LAZY | NO_DELETE)
          rescue ::LoadError => e
            raise UnusableLibrdkafka.new(gem: gem_version, cause: e.message.lines.first.to_s.chomp)
          end

          # An older library lacks functions: FFI's error for the first of them names no version.
          def check_version
            @version ||= Version.of(attach_function(:number, :rd_kafka_version, [], :int).call)
            return if @version.supported?

            raise UnsupportedLibrdkafka.new(version: @version, gem: gem_version)
          end

          # Returns the gem's name with its version, if RubyGems has loaded it.
          def gem_version = [GEM, Gem.loaded_specs[GEM]&.version].compact.join(" ")

          def version_file
            gem(GEM) unless resolve
            resolve || raise(::LoadError, "rdkafka/version isn't on the load path")
          end

          def resolve
            found = $LOAD_PATH.resolve_feature_path("rdkafka/version")
            found && File.dirname(found.last)
          end

          def suffix = RbConfig::CONFIG["host_os"].include?("darwin") ? "dylib" : "so"
        end
      end
    end
  end
end
