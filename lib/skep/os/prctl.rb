# frozen_string_literal: true

require "skep/os/prctl/twin"

# What Linux lets a process say about itself and its family. Source: prctl(2).
#
#   Skep::OS::Prctl.subreaper!                      # orphaned descendants fall to us, not to pid 1
#   Skep::OS::Prctl.parent_death_signal = :TERM     # sent to us when the thread that forked us ends
#   Skep::OS::Prctl.dumpable!                       # a core of us may be dumped, whoever we became
#   Skep::OS::Prctl.supported?
#
# A forked child inherits neither. It sets nothing by itself.
module Skep
  module OS
    module Prctl
      extend Twin

      # The signal that the end of our parent's forking thread sends us; nil for none.
      #
      #: ((Integer | String | Symbol)?) -> bool
      def self.parent_death_signal=(signal)
        send_at_parents_death(signal ? SignalNumber.of(signal) : 0)
      end
    end
  end
end
