# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # Reported when items were thrown away: to make room, or with the parent that had them.
      class Dropped < Skep::Error
        attr_reader :count #: Integer, of all that this process has dropped

        #: (Integer count) -> void
        def initialize(count)
          @count = count
          super("#{count} #{count == 1 ? "item was" : "items were"} dropped so far, undone: " \
                "push less, or give it a higher limit")
        end
      end
    end
  end
end
