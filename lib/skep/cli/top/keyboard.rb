# frozen_string_literal: true

# Keys, from the bytes that a terminal sends.
#
#   keyboard = Keyboard.new
#   keyboard.keys("j\e[A\e")   # => ["j", :up]
#   keyboard.rest              # => [:escape]: nothing has come after it
#
# What begins as a key and isn't whole waits for the next bytes: a slow connection may split it.
module Skep
  module CLI
    class Top < Command
      class Keyboard
        NAMES = { "A" => :up, "B" => :down, "H" => :home, "F" => :end, "5~" => :page_up,
                  "6~" => :page_down, "1~" => :home, "4~" => :end, "7~" => :home,
                  "8~" => :end }.freeze
        KEY = /\A(?:\e[\[O](?<code>[\d;]*[A-Za-z~])|(?<char>[^\e]))/n
        PART = /\A\e(?:[\[O][\d;]*)?\z/n
        private_constant :NAMES, :KEY, :PART

        def initialize #: () -> void
          @bytes = String.new(encoding: Encoding::BINARY)
        end

        def keys(bytes) #: (String) -> Array[Symbol | String]
          @bytes << bytes
          found = []
          until @bytes.empty? || @bytes.match?(PART)
            key = @bytes.slice!(KEY)
            key ? found << name(key) : @bytes.slice!(0) # an escape before something else
          end
          found.compact
        end

        def waits? = !@bytes.empty? #: () -> bool

        def rest #: () -> Array[Symbol]
          waits? ? [:escape].tap { @bytes.clear } : []
        end

        private

        def name(key) = key.bytesize == 1 ? key : NAMES[key[2..]]
      end
      private_constant :Keyboard
    end
  end
end
