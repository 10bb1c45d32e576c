# frozen_string_literal: true

# Errors that a background thread raises or reports.
module Skep
  module Threads
    class Background
      # Raised by a push or a start after close.
      class Closed < Inbox::Closed
        def initialize(name) = super("the background thread #{name}")
      end

      # Raised by a push or a start in a forked child with `restart: :never`.
      class WrongProcess < Skep::Error
        def initialize(name)
          super("the background thread #{name} is the parent's, by restart: :never: " \
                "push there, or make one here")
        end
      end

      # Reported after a Thread#kill, which the block can't rescue.
      class ThreadKilled < Skep::Error
        def initialize
          super("it was killed: the item in progress may be half done; a new thread starts")
        end
      end

      # Reported when the process exits before all items are processed.
      class DrainTimeout < Skep::Error
        attr_reader :count # items left in the inbox

        def initialize(count, seconds)
          @count = count
          super("it wasn't done in the #{seconds} s that it had at exit, with #{count} items " \
                "left: close it before, or give it more time by drain:")
        end
      end
    end
  end
end
