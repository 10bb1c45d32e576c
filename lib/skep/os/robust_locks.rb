# frozen_string_literal: true

require "skep/os/robust_locks/fallback"

# Locks in a page's cells, each held by a process to its end; and who waits for that end hears of it
# at once, before the kernel has torn the process's memory down: a pidfd tells only after that.
#
#   locks = Skep::OS::RobustLocks.new(page)
#   locks.prepare(3)                      # once, before anybody holds it
#   locks.hold(3)                         # => true; in a node, by its first thread
#   locks.open(3)                         # in the supervisor: to be claimed if its holder dies
#   locks.await_death([3, 4, 5], 10.0)    # => 3, or nil at the deadline; in a spare
#   locks.claim(3, 12) && locks.hold(3)   # of all who try, one is told true: 12 is its own number
#   locks.close(3)                        # => 12, who had claimed it, or nil: now nobody can
#
# A lock ends with its holder however that ends: exit, a signal, exec. A stopped process holds on to
# it. What its holder forks has nothing of it. After a core dump only, and where the kernel runs out
# of memory perhaps never, is the end told: so a pidfd is watched as well, and has the last word.
#
# A wait is no IO: a Fiber scheduler isn't asked, and the thread's other fibers wait with it.
# Source: robust futexes, futex_waitv(2) of Linux 5.16.
module Skep
  module OS
    class RobustLocks
      # How many cells one can wait for at a time.
      MOST = 127

      include Fallback
      extend Fallback::Support

      #: (SharedPage) -> void
      def initialize(page)
        @page = page
      end

      #: () -> String
      def inspect = "#<#{self.class} #{@page.inspect}>"
    end
  end
end
