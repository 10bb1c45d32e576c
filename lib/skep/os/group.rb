# frozen_string_literal: true

require "skep/os/group/twin"

# The process group that this process leads.
#
#   Skep::OS::Group.end_others   # => true: all of it but us is killed
#
# Others' groups are ended by their leader's handle, Pidfd#signal(:KILL, group: true).
module Skep
  module OS
    module Group
      extend Twin
    end
  end
end
