# frozen_string_literal: true

# Checks whether an IO is ready now. Ruby's own wait with a timeout of 0 returns nil without a look
# if a signal has just arrived (rb_thread_wait_for_single_fd in Ruby's thread.c).
#
#   ready = Skep::OS::EventLoop::ReadyNow
#   ready.again { |seconds| io.wait_readable(seconds) }   # the block's result, or nil
module Skep
  module OS
    class EventLoop
      module ReadyNow
        # Ruby repeats the look within a timeout above 0, so the last one is certain.
        SECONDS = [0, 0, 0.002].freeze
        private_constant :SECONDS

        # Calls the block, which waits for at most the given seconds, until it returns a value.
        def self.again
          SECONDS.each { |seconds| (found = yield(seconds)) and return found }
          nil
        end
      end
    end
  end
end
