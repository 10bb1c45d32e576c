# frozen_string_literal: true

module Skep
  module Threads
    class Inbox
      # Raised by a push for which there is no room: at once, or at its deadline.
      class Full < Skep::Error
        #: (String what, Integer limit) -> void
        def initialize(what, limit)
          super("#{what} is full, at #{limit}: push later, or give it a higher limit")
        end
      end
    end
  end
end
