# frozen_string_literal: true

# Ends this process and its process group some time after its parent and its supervisor died, also
# while it is stopped, or stuck in C code that holds the GVL.
#
#   watch = Skep::OS::ProcessTree::ParentDeathWatch
#   watch.watch(parent, supervisor, seconds: 5.5)   # pids
#   watch.renew     # after a change of user, or a trap("CONT") by other code
#
# The kernel sends SIGCONT when the parent dies (PR_SET_PDEATHSIG, prctl(2)). The handler returns as
# long as the parent is one of the two; otherwise it starts a timer that ends the process. It then
# calls the handler that was installed before. Neither a forked child nor an executed program
# inherits the watch.
#
# A trap("CONT") replaces the handler: until the next renew the watch does not work.
module Skep
  module OS
    module ProcessTree
      module ParentDeathWatch
        # Other systems have no such signal: nothing is watched.
        module Fallback
          # Returns true if this process, not one it was forked from, is watched.
          def watching? = false

          # Restores a watch that a change of user or a trap("CONT") has removed.
          def renew = false

          private

          def hold(_parent, _subreaper, _nanoseconds, _mold_group) = false
        end
        private_constant :Fallback

        extend Fallback

        # Ends this process `seconds` and 0.1 s after neither `parent` nor `subreaper` is its parent
        # any more; 0 is at once. Also kills the group led by the process of the pidfd `mold_group`.
        # Replaces an earlier watch; an orphan then has `seconds` left from now. Returns false if
        # the system has no such thing. Call it in the main thread: the watch ends with the thread.
        def self.watch(parent, subreaper = parent, seconds:, mold_group: nil)
          hold(parent, subreaper, (seconds * 1e9).round, mold_group&.to_io)
        end
      end
    end
  end
end
