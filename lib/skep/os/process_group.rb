# frozen_string_literal: true

# The process group that this process leads.
#
#   Skep::OS::ProcessGroup.kill_others   # => true: all of it but us is killed
#
# Others' groups are ended by their leader's handle, Pidfd#signal(:KILL, group: true).
module Skep
  module OS
    module ProcessGroup
      # Without the C nobody is ended.
      module Fallback
        # Kills every other process of the group that we lead; false, and nothing is done, where we
        # lead none.
        #
        #: () -> bool
        def kill_others = false
      end
      private_constant :Fallback

      extend Fallback
    end
  end
end
