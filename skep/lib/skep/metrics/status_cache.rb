# frozen_string_literal: true

# The swarm's status, asked of the supervisor on request, and at most ten times a second however
# many requests there are. Any thread may call it.
#
#   cache = StatusCache.new(query)
#   cache.read         # => Hash as in `skep status --json`; raises SupervisorTimeout
#   cache.duration     # => how many seconds the last answer took
module Skep
  module Metrics
    class StatusCache
      TIMEOUT = 2.0
      MAX_AGE = 0.1
      private_constant :TIMEOUT, :MAX_AGE

      attr_reader :duration

      def initialize(query, clock: OS.method(:now))
        @query, @clock = query, clock
        @lock = Mutex.new
        @duration = 0.0
        @at = nil
      end

      def read
        @lock.synchronize do
          ask unless @at && @clock.call - @at < MAX_AGE
          @status || raise(SupervisorTimeout.new(seconds: TIMEOUT))
        end
      end

      private

      def ask
        started = @clock.call
        @status = @query.ask(TIMEOUT)
        @at = @clock.call
        @duration = @at - started
      end
    end
  end
end
