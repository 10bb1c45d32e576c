# frozen_string_literal: true

# The process group that this process leads.
#
#   Skep::OS::ProcessTree::ProcessGroup.kill_others   # => true: its other members are killed
#
# The group of another leader is signalled by its handle: Pidfd#signal(:KILL, group: true).
module Skep
  module OS
    module ProcessTree
      module ProcessGroup
        # Without the C extension nothing is killed.
        module Fallback
          # Kills every other process of the group that this process leads. Returns false, and does
          # nothing, if it leads none.
          def kill_others = false
        end
        private_constant :Fallback

        extend Fallback
      end
    end
  end
end
