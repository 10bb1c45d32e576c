# frozen_string_literal: true

require "pathname"

# Plain data: what may cross a channel, a log or a socket. Hashes, arrays, strings (valid UTF-8),
# finite floats, integers of 64 bits, true, false, nil; everything else becomes its `inspect`. A
# text is cut at 16 KiB.
#
#   PlainData.of(restart: :always, log: $stdout)
#   # => {"restart" => "always", "log" => "#<IO:<STDOUT>>"}
#   PlainData.bounded(facts, bytes: 1024)   # the same; raises TooMuch where it is larger or deeper
#   PlainData.error(error)                  # => "IOError: closed stream", whatever its message is
module Skep
  class Swarm
    module IPC
      module PlainData
        TEXT = 16_384
        DEPTH = 32 # hashes and arrays within each other, at most
        BITS = 64 # of an integer; a larger one is told as text
        DIGITS = 4096 # bits up to which it is
        EACH = 8 # bytes that a value counts at least
        ESCAPED = "\u0000-\u001f\"\\\\"
        private_constant :TEXT, :BITS, :DIGITS, :EACH, :ESCAPED

        # Too many bytes, or too many levels.
        class TooMuch < Skep::Error
        end

        # Walks through facts and counts what they take as JSON, at most.
        class Walk
          def initialize(bytes) #: (Integer) -> void
            @bytes = @left = bytes
          end

          def of(value, depth = 0) #: (untyped, ?Integer) -> untyped
            case value
            when Hash
              deeper(depth)
              value.to_h { |key, held| [text(key), of(held, depth + 1)] }
            when Array
              deeper(depth)
              value.map { |held| of(held, depth + 1) }
            when String then text(value)
            else scalar(PlainData.of(value))
            end
          end

          private

          def deeper(depth)
            raise TooMuch, "nested deeper than #{DEPTH} levels" if depth >= DEPTH

            count(EACH)
          end

          def scalar(plain)
            return text(plain) if plain.is_a?(String)

            count(EACH)
            plain
          end

          # A character that JSON escapes takes six bytes.
          def text(value)
            text = PlainData.text(value.is_a?(String) ? value : "#{value}")
            count(EACH + text.bytesize + (5 * text.count(ESCAPED)))
            text
          end

          def count(bytes)
            @left -= bytes
            raise TooMuch, "larger than #{@bytes} bytes" if @left.negative?
          end
        end
        private_constant :Walk

        module_function

        def of(value) #: (untyped) -> untyped
          case value
          when Hash then value.to_h { |key, held| [text("#{key}"), of(held)] }
          when Array then value.map { |held| of(held) }
          when String then text(value)
          when Symbol, Pathname then text(value.to_s)
          when Float then value.finite? ? value : value.to_s
          when Integer then integer(value)
          when true, false, nil then value
          else text(described(value))
          end
        end

        #: (untyped, bytes: Integer) -> untyped
        def bounded(value, bytes:)
          Walk.new(bytes).of(value)
        end

        # Valid UTF-8. Bytes without an encoding are taken for UTF-8.
        def text(string) #: (String) -> String
          string = string.byteslice(0, TEXT) if string.bytesize > TEXT
          return string if string.encoding == Encoding::UTF_8 && string.valid_encoding?

          string = utf8(string).scrub
          string.bytesize > TEXT ? string.byteslice(0, TEXT).scrub("") : string
        end

        def error(error) = "#{error.class}: #{message(error)}" #: (Exception) -> String

        # An error's message, which may be of any encoding or class, or raise itself.
        def message(error) #: (Exception) -> String
          text("#{error.message}")
        rescue StandardError => e # the user's own method
          "its message raised #{e.class}"
        end

        # What `inspect` returns, or the class where that raises.
        def described(value) #: (untyped) -> String
          "#{value.inspect}"
        rescue StandardError # BasicObject has none, others' are the user's own
          "#<#{Kernel.instance_method(:class).bind_call(value)}>"
        end

        def integer(value)
          return value if value.bit_length <= BITS

          value.bit_length > DIGITS ? "an integer of #{value.bit_length} bits" : value.to_s
        end

        def utf8(string)
          case string.encoding
          when Encoding::UTF_8 then string
          when Encoding::BINARY, Encoding::US_ASCII then string.dup.force_encoding(Encoding::UTF_8)
          else string.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
          end
        rescue EncodingError # one that Ruby can't convert, such as UTF-7
          string.dup.force_encoding(Encoding::UTF_8)
        end
        private_class_method :integer, :utf8
      end
    end
  end
end
