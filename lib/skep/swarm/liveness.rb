# frozen_string_literal: true

# Judges whether a node still makes progress. Pure: facts and a time in, a verdict out.
#
#   liveness = Liveness.new(timeout: 30.0)
#   liveness.verdict([Sign.new(cell, 0, at, busy_until)], now)
#   # => 10.0: fine, look again in so many seconds; or the Sign of the thread that is hung
#   liveness.patience(0.003)   # => 0.03: how long who is overdue is given to prove the contrary
#
# A node is as alive as the worst of its threads: none excuses another.
module Skep
  class Swarm
    class Liveness
      # How often a timeout who waits beats. Who then begins to work has all of it nevertheless.
      BEATS = 2.5
      LEAST_PATIENCE = 0.02
      MISTRUST = 10
      private_constant :LEAST_PATIENCE, :MISTRUST

      # What is known of one thread: its cell, its number (0: the node's own), when it last made
      # progress or got something to make progress with, and until when it owes none. Monotonic
      # seconds; busy_until 0 where nothing was declared.
      Sign = Struct.new(:cell, :thread, :at, :busy_until)

      attr_reader :timeout #: Float

      def initialize(timeout:) #: (timeout: Float) -> void
        @timeout = timeout
      end

      #: (Array[Sign], Float) -> (Float | Sign)
      def verdict(signs, now)
        first = signs.min_by { |sign| deadline(sign) }
        left = deadline(first) - now
        left.positive? ? left : first
      end

      # For how long has it owed a sign?
      def overdue(sign, now) = now - deadline(sign) #: (Sign, Float) -> Float

      # Who looks too late has perhaps been stopped, together with those it looks at: the later, the
      # longer they are given.
      #: (Float) -> Float
      def patience(late) = [[late * MISTRUST, timeout].min, LEAST_PATIENCE].max

      # So late that nothing of before counts?
      def slept?(late) = late * MISTRUST >= timeout #: (Float) -> bool

      private

      def deadline(sign) = [sign.at + timeout, sign.busy_until].max
    end
  end
end
