# frozen_string_literal: true

require "pathname"

# Plain data: what may cross a channel, a log or a socket. Hashes, arrays, strings (valid UTF-8),
# numbers, true, false, nil; everything else becomes its `inspect`. A text is cut at 16 KiB.
#
#   Plain.of(restart: :always, log: $stdout)
#   # => {"restart" => "always", "log" => "#<IO:<STDOUT>>"}
module Skep
  class Swarm
    module Plain
      TEXT = 16_384
      private_constant :TEXT

      module_function

      def of(value) #: (untyped) -> untyped
        case value
        when Hash then value.to_h { |key, held| [text(key.to_s), of(held)] }
        when Array then value.map { |held| of(held) }
        when String then text(value)
        when Symbol, Pathname then text(value.to_s)
        when Float then value.finite? ? value : value.to_s
        when Integer, true, false, nil then value
        else text(value.inspect)
        end
      end

      def text(string) #: (String) -> String
        string = string.byteslice(0, TEXT) if string.bytesize > TEXT
        string.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
      end
    end
  end
end
