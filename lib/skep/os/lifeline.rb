# frozen_string_literal: true

require "skep/os/lifeline/twin"

# Ends this process, and its process group, some time after the last of its family has gone: also
# one that is stopped, or stuck in C with the GVL, and can't be told any more.
#
#   Skep::OS::Lifeline.tie(parent, keeper, seconds: 5.5)   # pids; keeper: who adopts us (subreaper)
#   Skep::OS::Lifeline.renew     # after a change of user, or a trap("CONT") of somebody else's
#
# The kernel sends SIGCONT when our parent dies (PR_SET_PDEATHSIG, prctl(2)); the handler does
# nothing as long as we have a parent of the family, and hands the signal on to the handler that was
# there before. A forked child isn't tied, nor is a program that is executed.
#
# It can't do without that handler: after a trap("CONT") that takes its place it is blind until the
# next renew.
module Skep
  module OS
    module Lifeline
      extend Twin

      # The seconds are those from the family's end to ours; 0 is at once. With ours the group that
      # the process of the pidfd `estate` led is ended. False where there is no such thing. Call it
      # in the thread that lives as long as the process: the main one. What was tied before is tied
      # anew: an orphan has so many seconds from now on.
      #
      #: (Integer parent, ?Integer keeper, seconds: Numeric, ?estate: Pidfd?) -> bool
      def self.tie(parent, keeper = parent, seconds:, estate: nil)
        hold(parent, keeper, (seconds * 1e9).round, estate&.to_io)
      end
    end
  end
end
