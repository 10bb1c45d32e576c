# frozen_string_literal: true

require "pathname"

# Plain data: what may cross a channel, a log or a socket. Hashes, arrays, strings (valid UTF-8),
# finite floats, integers of 64 bits, true, false, nil. Everything else becomes its `inspect`. A
# text is cut at 16 KiB.
#
#   PlainData.of(restart: :always, log: $stdout)
#   # => {"restart" => "always", "log" => "#<IO:<STDOUT>>"}
#   PlainData.bounded(facts, bytes: 1024)   # the same; raises TooMuch if it is larger or deeper
#   PlainData.cut(facts, :rows, bytes: 1024)   # with as many elements of that list as fit
#   PlainData.error(error)                  # => "IOError: closed stream", whatever its message is
module Skep
  class Swarm
    module IPC
      module PlainData
        TEXT = 16_384
        DEPTH = 32 # levels of hashes and arrays
        BITS = 64 # of an integer; a larger one becomes text
        DIGITS = 4096 # bits of an integer that is written out in that text
        EACH = 8 # bytes that a value counts at least
        ESCAPED = "\u0000-\u001f\"\\\\"
        private_constant :TEXT, :BITS, :DIGITS, :EACH, :ESCAPED

        # Too many bytes, or too many levels.
        class TooMuch < Skep::Error
        end

        # Converts facts and counts an upper bound of their size as JSON.
        class Walk
          def initialize(bytes = Float::INFINITY, levels = Float::INFINITY)
            @bytes = @left = bytes
            @levels = levels
          end

          # Scalars come first: nearly all values are, and a node reports tens of thousands.
          def of(value, depth = 0)
            case value
            when Integer, Float, true, false, nil then scalar(PlainData.scalar(value))
            when String then text(value)
            when Hash
              deeper(depth)
              value.to_h { |key, held| [text("#{key}"), of(held, depth + 1)] }
            when Array
              deeper(depth)
              value.map { |held| of(held, depth + 1) }
            when Symbol, Pathname then text(value.to_s)
            else text(PlainData.described(value))
            end
          end

          private

          def deeper(depth)
            raise TooMuch, "nested deeper than #{@levels} levels" if depth >= @levels

            count(EACH)
          end

          def scalar(plain)
            return text(plain) if plain.is_a?(String)

            count(EACH)
            plain
          end

          # A character that JSON escapes takes six bytes.
          def text(value)
            text = PlainData.text(value)
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

        def of(value) = Walk.new.of(value)

        # Of a number, true, false or nil.
        def scalar(value)
          case value
          when Integer then integer(value)
          when Float then value.finite? ? value : value.to_s
          else value
          end
        end

        def bounded(value, bytes:) = Walk.new(bytes, DEPTH).of(value)

        # Returns the facts with as many elements of the Array under that key as there is room for.
        # If some are left out, "KEY_left_out" says how many. Raises TooMuch if the rest is too
        # large.
        def cut(facts, key, bytes:)
          list = facts.fetch(key)
          walk = Walk.new(bytes, DEPTH)
          others = walk.of({ **facts.except(key), "#{key}_left_out": list.size, key => [] })
          kept = others[key.to_s]
          list.each { |held| kept << walk.of(held, 2) }
          others.except("#{key}_left_out")
        rescue TooMuch
          raise unless kept

          { **others, "#{key}_left_out" => list.size - kept.size }
        end

        # Returns valid UTF-8. Bytes without an encoding are read as UTF-8.
        def text(string)
          string = string.byteslice(0, TEXT) if string.bytesize > TEXT
          return string if string.encoding == Encoding::UTF_8 && string.valid_encoding?

          string = utf8(string).scrub
          string.bytesize > TEXT ? string.byteslice(0, TEXT).scrub("") : string
        end

        def error(error) = "#{error.class}: #{message(error)}"

        # Returns an error's message, without the lines of source that Ruby 3.1 adds to a
        # NameError's. It may be of any encoding or class, or raise.
        def message(error)
          text("#{error.respond_to?(:original_message) ? error.original_message : error.message}")
        rescue UserError => e # in the user's own method
          "its message raised #{e.class}"
        end

        # Returns the result of `inspect`, or the class if that raises.
        def described(value)
          "#{value.inspect}"
        rescue StandardError # BasicObject has none, others' are the user's own
          "#<#{Kernel.instance_method(:class).bind_call(value)}>"
        end

        # Returns a few words about a value, for an error.
        def shown(value)
          case value
          when Hash, Array then "#{value.class} of #{value.size}"
          else text(described(value))[0, 60].scrub
          end
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
