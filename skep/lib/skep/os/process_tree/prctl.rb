# frozen_string_literal: true

# Attributes that Linux keeps for a process. A forked child inherits none of them. Source: prctl(2).
#
#   prctl = Skep::OS::ProcessTree::Prctl
#   prctl.subreaper!                    # orphaned descendants become our children, not pid 1's
#   prctl.parent_death_signal = :TERM   # the kernel sends it when the thread that forked us ends
module Skep
  module OS
    module ProcessTree
      module Prctl
        # Other systems have none of these: each setter returns false and does nothing.
        module Fallback
          # Makes orphaned descendants our children.
          def subreaper! = false

          private

          def send_at_parents_death(_number) = false
        end
        private_constant :Fallback

        extend Fallback

        # Sets the signal that the end of our parent's forking thread sends us; nil for none.
        def self.parent_death_signal=(signal)
          send_at_parents_death(signal ? OS.signal_number(signal) : 0)
        end
      end
    end
  end
end
