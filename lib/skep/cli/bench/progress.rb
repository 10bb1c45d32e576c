# frozen_string_literal: true

# Tells a person who waits at a terminal what is being measured, on one line of stderr.
#
#   progress = Progress.new($stderr)
#   progress.show("round 2 of 7: Skep.pid")
#   progress.close                            # leaves nothing on the screen
module Skep
  module CLI
    class Bench
      class Progress
        WIDTH = 79
        private_constant :WIDTH

        def initialize(err) #: (IO) -> void
          @err = err if err.tty? && ENV["TERM"] != "dumb"
        end

        def show(text) = @err&.write("\r\e[K#{text[0, WIDTH]}") #: (String) -> void
        def close = @err&.write("\r\e[K") #: () -> void
      end
    end
  end
end
