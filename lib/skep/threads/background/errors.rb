# frozen_string_literal: true

# What a background thread raises or reports.
module Skep
  module Threads
    class Background
      # Raised by a push or a start after close.
      class Closed < Inbox::Closed
        #: (String name) -> void
        def initialize(name) = super("the background thread #{name}")
      end

      # Raised by a push or a start in a forked child, where `restart: :never` keeps the thread out.
      class WrongProcess < Skep::Error
        #: (String name) -> void
        def initialize(name)
          super("the background thread #{name} is the parent's, by restart: :never: " \
                "push there, or make one here")
        end
      end

      # Reported of a thread that somebody killed: Thread#kill lets nothing be rescued.
      class ThreadKilled < Skep::Error
        #: () -> void
        def initialize
          super("it was killed: what it had in hand may be half done; another takes its place")
        end
      end

      # Reported when items were thrown away: to make room, or with the parent that had them.
      class ItemsDropped < Skep::Error
        attr_reader :count #: Integer, of all that this process has dropped

        #: (Integer count) -> void
        def initialize(count)
          @count = count
          super("#{count} #{count == 1 ? "item was" : "items were"} dropped so far, undone: " \
                "push less, or give it a higher limit")
        end
      end

      # Reported at the end of a process that left items behind.
      class DrainTimeout < Skep::Error
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
