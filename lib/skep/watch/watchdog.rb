# frozen_string_literal: true

# When systemd is to be told that we live, as WatchdogSec= asks for: by a timer of the supervisor's
# loop, which shows that it turns. With `watchdog: :nodes` only while a node has been ready lately.
#
#   watchdog = Watchdog.asked(ENV)       # nil if nobody asks
#   watchdog.begin(supervisor) { |word| … }   # from here on, at half of the time we have
#   watchdog.word                        # => "WATCHDOG=1", or nil: systemd is to restart the unit
#
# sd_watchdog_enabled(3).
module Skep
  module Watch
    class Watchdog
      # Takes what asks for it out of the environment.
      def self.asked(env, pid: Process.pid) #: (untyped, ?pid: Integer) -> Watchdog?
        usec, whose = %w[WATCHDOG_USEC WATCHDOG_PID].map { |name| env.delete(name)&.to_i }
        new(usec / 1e6) if usec&.positive? && [nil, pid].include?(whose)
      end

      attr_reader :seconds #: Float, past which systemd acts

      def initialize(seconds) #: (Float) -> void
        @seconds = seconds
      end

      def begin(supervisor, &tell) #: (Swarm::Supervisor) { (String) -> void } -> void
        @supervisor = supervisor
        @tell = tell
        @alive_at = OS.now
        turn
      end

      def word = alive? ? "WATCHDOG=1" : nil #: () -> String?

      private

      def turn
        word&.then(&@tell)
        @supervisor.loop.after(seconds / 2, early: seconds / 4) { turn }
      end

      def alive?
        return true if @supervisor.config.watchdog == :supervisor || @supervisor.stopping?

        @alive_at = OS.now if Standing.ready?(@supervisor)
        OS.now - @alive_at < @supervisor.boot_limit
      end
    end
  end
end
