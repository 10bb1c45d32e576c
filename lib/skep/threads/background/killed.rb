# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # Reported of a thread that somebody killed: Thread#kill lets nothing be rescued.
      class Killed < Skep::Error
        #: () -> void
        def initialize
          super("it was killed: what it had in hand may be half done; another takes its place")
        end
      end
    end
  end
end
