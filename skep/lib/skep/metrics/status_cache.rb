# frozen_string_literal: true

# The swarm's status, asked of the supervisor on request, and at most ten times per second however
# many requests there are. If answers take long, it is asked less often, so that a client that
# requests without a pause takes a sixth of its time at most. Any thread may call it.
#
#   cache = StatusCache.new(query)
#   cache.read         # => Hash as in `skep status --json`; raises SupervisorTimeout
#   cache.duration     # => how many seconds the last answer took
module Skep
  module Metrics
    class StatusCache
      TIMEOUT = 2.0
      MAX_AGE = 0.1
      COST = 5 # an answer is kept for so many times the seconds that it took
      private_constant :TIMEOUT, :MAX_AGE, :COST

      attr_reader :duration

      def initialize(query, clock: OS.method(:now))
        @query, @clock = query, clock
        @lock = Mutex.new
        @duration = 0.0
        @at = nil
      end

      def read
        @lock.synchronize do
          ask unless @at && @clock.call - @at < max_age
          @status || raise(SupervisorTimeout.new(seconds: TIMEOUT))
        end
      end

      private

      # After a timeout it asks again soon: the supervisor may be back at once.
      def max_age = @status ? [MAX_AGE, @duration * COST].max : MAX_AGE

      def ask
        started = @clock.call
        @status = @query.ask(TIMEOUT)
        @at = @clock.call
        @duration = @at - started
      end
    end
  end
end
