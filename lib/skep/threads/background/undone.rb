# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # Reported at the end of a process that left items behind.
      class Undone < Skep::Error
        attr_reader :count #: Integer, of those that nobody had taken

        #: (Integer count, Numeric seconds) -> void
        def initialize(count, seconds)
          @count = count
          super("it wasn't done in the #{seconds} s that it had at exit, with #{count} items " \
                "left: close it before, or give it more time by drain:")
        end
      end
    end
  end
end
