# frozen_string_literal: true

# What a process leaves behind when it ends: the rest of the group that it led, which is killed.
#
#   Remains.of(pidfd)       # it has ended, and if it is our child nobody has reaped it
#
# Who has a group or a session of its own is for Strangers.
module Skep
  class Swarm
    module Remains
      def self.of(pidfd) #: (OS::Pidfd) -> void
        pidfd.signal(:KILL, group: true) unless pidfd.alive?
      rescue Errno::ESRCH, Errno::EPERM # none left; or another user's, whom we may not signal
        nil
      end
    end
  end
end
