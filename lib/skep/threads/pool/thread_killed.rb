# frozen_string_literal: true

module Skep
  module Threads
    class Pool
      # The failure of a job whose thread was killed in its middle.
      class ThreadKilled < Skep::Error
        # What Ruby makes of a kill of the main thread: its SystemExit, but not any other.
        module OfMain
          # Is that the end of the main thread's own?
          #: (Exception) -> bool
          def self.===(error)
            error.is_a?(SystemExit) && !!error.backtrace&.first&.match?(/\b(?:kill|terminate)'\z/)
          end
        end

        #: () -> void
        def initialize = super("the job's thread was killed: the job may be half done")
      end
    end
  end
end
