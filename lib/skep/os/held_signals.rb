# frozen_string_literal: true

require "skep/os/held_signals/twin"

# Signals that wait until another program of this very process is there to take them.
#
#   HeldSignals.hold(%w[TERM HUP])       # in the old program, right before its exec
#   HeldSignals.take_back                # … which has failed: they come as they did
#   HeldSignals.let_come(%w[TERM HUP])   # in the new one, once it has handlers for them
#
# What came before `hold` has gone through Ruby's handlers when it returns; what comes later is the
# new program's. Several of one signal come as one. In between no other may be waited for: a program
# that never lets them come can be ended by KILL alone. Source: signal(7), execve(2).
module Skep
  module OS
    module HeldSignals
      extend Twin

      class << self
        #: (Array[String]) -> true
        def hold(names) = block(numbers(names))

        #: (Array[String]) -> true
        def let_come(names) = unblock(numbers(names))

        private

        #: (Array[String]) -> Array[Integer]
        def numbers(names) = names.map { |name| SignalNumber.of(name) }
      end
    end
  end
end
