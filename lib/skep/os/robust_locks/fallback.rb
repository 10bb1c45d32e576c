# frozen_string_literal: true

module Skep
  module OS
    class RobustLocks
      # What other systems offer: no lock that outlives its holder and says so. `supported?`
      # is false, and each method raises Unsupported.
      module Fallback
        module Support
          # Can it be had here? Elsewhere a pidfd has to do.
          #
          #: () -> bool
          def supported? = false
        end

        # Makes the lock anew, held by nobody and closed to claims; for a cell's first holder, and
        # where one died without a word. Nobody may be holding it.
        #
        #: (Integer cell) -> nil
        def prepare(_cell) = unsupported!

        # Takes the lock for this process, be it free or a dead one's; false when another has it.
        # Raises ThreadError in any thread but the process' first, as the lock ends with its thread.
        # The page stays mapped from then on, closed or not.
        #
        #: (Integer cell) -> bool
        def hold(_cell) = unsupported!

        # Gives it up, alive: nobody is told of a death. False when it isn't ours.
        #
        #: (Integer cell) -> bool
        def let_go(_cell) = unsupported!

        # The pid of the process that holds it, nil when that is dead, or none does.
        #
        #: (Integer cell) -> Integer?
        def holder(_cell) = unsupported!

        # Did the last to hold it die, and nobody take it since?
        #
        #: (Integer cell) -> bool
        def dead?(_cell) = unsupported!

        # Lets it be claimed, once, as soon as nobody holds it; an earlier claim is forgotten.
        #
        #: (Integer cell) -> nil
        def open(_cell) = unsupported!

        # Lets nobody claim it any more. The number of who did before, or nil.
        #
        #: (Integer cell) -> Integer?
        def close(_cell) = unsupported!

        # True for one, and one only, if it is open and nobody holds it. The number is what
        # #close and #claimer tell the others: 0 to 2^30 - 1.
        #
        #: (Integer cell, Integer number) -> bool
        def claim(_cell, _number) = unsupported!

        # The number of who has claimed it, or nil.
        #
        #: (Integer cell) -> Integer?
        def claimer(_cell) = unsupported!

        # Waits until one of at most MOST cells can be claimed, and tells which: of several waiting
        # processes the kernel wakes one. nil after so many seconds (nil: never) and after #wake.
        #
        #: (Array[Integer] cells, Numeric? seconds) -> Integer?
        def await_death(_cells, _seconds) = unsupported!

        # Ends this process' wait, or its next one. From any thread.
        #
        #: () -> nil
        def wake = unsupported!

        private

        #: () -> bot
        def unsupported!
          raise Unsupported.new(what: "a lock that tells of its holder's end",
                                because: "this kernel, or the Ruby fallback, has none")
        end
      end
      private_constant :Fallback
    end
  end
end
