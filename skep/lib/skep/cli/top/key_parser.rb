# frozen_string_literal: true

# Turns the bytes that a terminal sends into keys.
#
#   parser = KeyParser.new
#   parser.keys("j\e[A\e")   # => ["j", :up]
#   parser.flush             # => [:escape]: nothing has followed it
#
# The beginning of a key waits for its next bytes: a slow connection may split them.
module Skep
  module CLI
    module Top
      class KeyParser
        NAMES = { "A" => :up, "B" => :down, "H" => :home, "F" => :end, "5~" => :page_up,
                  "6~" => :page_down, "1~" => :home, "4~" => :end, "7~" => :home,
                  "8~" => :end }.freeze
        KEY = /\A(?:\e[\[O](?<code>[\d;]*[A-Za-z~])|(?<char>[^\e]))/n
        BEGINNING = /\A\e(?:[\[O][\d;]*)?\z/n
        private_constant :NAMES, :KEY, :BEGINNING

        def initialize
          @bytes = String.new(encoding: Encoding::BINARY)
        end

        def keys(bytes)
          @bytes << bytes
          found = []
          until @bytes.empty? || @bytes.match?(BEGINNING)
            key = @bytes.slice!(KEY)
            key ? found << name(key) : @bytes.slice!(0) # an escape before something else
          end
          found.compact
        end

        # Returns true while the beginning of a key waits.
        def incomplete? = !@bytes.empty?

        def flush
          incomplete? ? [:escape].tap { @bytes.clear } : []
        end

        private

        def name(key) = key.bytesize == 1 ? key : NAMES[key[2..]]
      end
    end
  end
end
