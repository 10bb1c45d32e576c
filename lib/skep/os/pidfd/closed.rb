# frozen_string_literal: true

module Skep
  module OS
    class Pidfd
      # Raised by the use of a pidfd after its close.
      class Closed < Error
        #: (pid: Integer) -> void
        def initialize(pid:)
          super("the pidfd of process #{pid} is closed: open another with Skep.pidfd(#{pid})")
        end
      end
    end
  end
end
