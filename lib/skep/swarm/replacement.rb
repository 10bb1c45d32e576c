# frozen_string_literal: true

# One process taking over a seat from another, ready before that one goes.
#
#   replacement = Replacement.new(seat, "restart") { |ok| … }    # called once, at its end
#   replacement.ready(node, stop_timeout)   # the successor can work: the old one is stopped
#   replacement.over(true)
#
# The old one works on until then, and altogether if the new one can't begin.
module Skep
  class Swarm
    class Replacement
      attr_reader :seat #: Seat
      attr_reader :reason #: String, why: restart, reload, memory_limit, …

      def initialize(seat, reason, loop, &done) #: (Seat, String, OS::Loop) { (bool) -> void } -> void
        @seat = seat
        @reason = reason
        @loop = loop
        @done = done
      end

      # The successor is ready; the old one has so many seconds to finish.
      def ready(old, seconds) #: (Node, Float) -> void
        old.retire(reason)
        old.watches << @loop.after(seconds) { old.kill("stop_timeout") }
      end

      def over(succeeded) #: (bool) -> void
        seat.replacement = nil
        @done&.call(succeeded)
      end
    end
  end
end
