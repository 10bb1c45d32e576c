# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # Raised by a push or a start after close.
      class Closed < Inbox::Closed
        #: (String name) -> void
        def initialize(name) = super("the background thread #{name}")
      end
    end
  end
end
