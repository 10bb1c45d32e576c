# frozen_string_literal: true

# Ends this process, and its process group, some time after the last of its family has gone: also
# one that is stopped, or stuck in C with the GVL, and can't be told any more.
#
#   Skep::OS::ParentDeathWatch.watch(parent, subreaper, seconds: 5.5)   # pids; who adopts us
#   Skep::OS::ParentDeathWatch.renew     # after a change of user, or somebody's trap("CONT")
#
# The kernel sends SIGCONT when our parent dies (PR_SET_PDEATHSIG, prctl(2)); the handler does
# nothing as long as we have a parent of the family, and hands the signal on to the handler that was
# there before. A forked child isn't tied, nor is a program that is executed.
#
# It can't do without that handler: after a trap("CONT") that takes its place it is blind until the
# next renew.
module Skep
  module OS
    module ParentDeathWatch
      # What other systems offer: nothing. Nobody is ever tied.
      module Fallback
        # Is this very process tied?
        #
        #: () -> bool
        def watching? = false

        # Ties again what is tied: a change of user unties, a trap takes the handler away.
        #
        #: () -> bool
        def renew = false

        private

        #: (Integer, Integer, Integer, IO?) -> bool
        def hold(_parent, _subreaper, _nanoseconds, _mold_group) = false
      end
      private_constant :Fallback

      extend Fallback

      # The seconds are those from the family's end to ours; 0 is at once. With ours the group that
      # the process of the pidfd `mold_group` led is ended. False where there is no such thing. Call
      # it in the thread that lives as long as the process: the main one. What was watched before is
      # watched anew: an orphan has so many seconds from now on.
      #
      #: (Integer parent, ?Integer subreaper, seconds: Numeric, ?mold_group: Pidfd?) -> bool
      def self.watch(parent, subreaper = parent, seconds:, mold_group: nil)
        hold(parent, subreaper, (seconds * 1e9).round, mold_group&.to_io)
      end
    end
  end
end
