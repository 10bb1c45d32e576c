# frozen_string_literal: true

module Skep
  module Threads
    class Inbox
      # Raised by a push after close.
      class Closed < Skep::Error
        #: (?String what) -> void
        def initialize(what = "the inbox")
          super("#{what} is closed: push before close, or make another")
        end
      end
    end
  end
end
