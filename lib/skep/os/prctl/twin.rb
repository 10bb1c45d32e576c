# frozen_string_literal: true

module Skep
  module OS
    module Prctl
      # What other systems offer: nothing. Every setter says false and does nothing.
      module Twin
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
      private_constant :Twin
    end
  end
end
