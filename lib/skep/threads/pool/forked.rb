# frozen_string_literal: true

module Skep
  module Threads
    class Pool
      # Raised by a run in the child of a process in which one of its jobs forked, and went on in
      # the child instead of ending it.
      class Forked < Skep::Error
        #: () -> void
        def initialize
          super("a job of this batch forked, and this is the child: the batch is the parent's; " \
                "end the child by exit! or exec in the job, or fork with a block")
        end
      end
    end
  end
end
