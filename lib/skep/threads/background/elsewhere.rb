# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # Raised by a push or a start in a forked child, where `restart: :never` keeps the thread out.
      class Elsewhere < Skep::Error
        #: (String name) -> void
        def initialize(name)
          super("the background thread #{name} is the parent's, by restart: :never: " \
                "push there, or make one here")
        end
      end
    end
  end
end
