# frozen_string_literal: true

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
      # What other systems offer: nothing. Every setter says false and does nothing.
      module Fallback
        #: () -> bool
        def supported? = false

        # Asks that orphaned descendants become our children.
        #
        #: () -> bool
        def subreaper! = false

        #: () -> bool
        def subreaper? = false

        # Asks that a core may be dumped of us although we changed user.
        #
        #: () -> bool
        def dumpable! = false

        #: () -> bool
        def dumpable? = false

        #: () -> Integer?
        def parent_death_signal = nil

        private

        #: (Integer) -> bool
        def send_at_parents_death(_number) = false
      end
      private_constant :Fallback

      extend Fallback

      # The signal that the end of our parent's forking thread sends us; nil for none.
      #
      #: ((Integer | String | Symbol)?) -> bool
      def self.parent_death_signal=(signal)
        send_at_parents_death(signal ? SignalNumber.of(signal) : 0)
      end
    end
  end
end
