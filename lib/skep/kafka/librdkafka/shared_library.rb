# frozen_string_literal: true

# Where librdkafka lies: inside the gem karafka-rdkafka, which skep doesn't depend on.
#
#   SharedLibrary.path      # => ".../karafka-rdkafka-0.21.0/ext/librdkafka.so"; raises GemMissing
#   SharedLibrary.missing   # => the sentence of GemMissing, or nil
#
# The program that uses Skep::Kafka has the gem in its own Gemfile, and so chooses its version.
module Skep
  module Kafka
    module Librdkafka
      module SharedLibrary
        GEM = "karafka-rdkafka"

        class << self
          def path #: () -> String
            require "ffi"
            @path ||= File.expand_path("../../ext/librdkafka.#{suffix}", version_file)
          rescue ::LoadError => e # Gem::LoadError is one too: the gem, or ffi under it, isn't there
            raise GemMissing.new(gem: GEM, cause: e.message.lines.first.to_s.chomp)
          end

          def missing #: () -> String?
            path && nil
          rescue GemMissing => e # the caller wants the sentence
            e.message
          end

          private

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
