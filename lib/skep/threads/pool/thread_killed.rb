# frozen_string_literal: true

module Skep
  module Threads
    class Pool
      # The failure of a job whose thread was killed in its middle.
      class ThreadKilled < Skep::Error
        #: () -> void
        def initialize = super("the job's thread was killed: the job may be half done")
      end
    end
  end
end
