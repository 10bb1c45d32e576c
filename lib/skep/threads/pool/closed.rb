# frozen_string_literal: true

module Skep
  module Threads
    class Pool
      # Raised by a run after close.
      class Closed < Skep::Error
        #: () -> void
        def initialize = super("the pool is closed: run before close, or make another")
      end
    end
  end
end
