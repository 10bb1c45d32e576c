# frozen_string_literal: true

# Pings systemd's watchdog, as WatchdogSec= asks for, by a timer of the supervisor's loop: a ping
# shows that the loop turns. With `watchdog: :nodes`, only while a node has been ready lately.
#
#   watchdog = Watchdog.from(ENV)                  # nil if systemd asks for no pings
#   watchdog.start(supervisor) { |message| … }     # called at half of systemd's timeout
#   watchdog.message       # => "WATCHDOG=1"; nil if systemd is to restart the unit
#
# sd_watchdog_enabled(3).
module Skep
  module Systemd
    class Watchdog
      # Removes systemd's variables from env: they are for this process alone.
      def self.from(env, pid: Process.pid)
        usec, addressee = %w[WATCHDOG_USEC WATCHDOG_PID].map { |name| env.delete(name)&.to_i }
        new(usec / 1e6) if usec&.positive? && [nil, pid].include?(addressee)
      end

      attr_reader :timeout # without a ping for so many seconds systemd acts

      def initialize(timeout)
        @timeout = timeout
      end

      def start(supervisor, &send_message)
        @supervisor = supervisor
        @send_message = send_message
        @alive_at = OS.now
        ping
      end

      def message = alive? ? "WATCHDOG=1" : nil

      private

      # An error doesn't end the pings: systemd would end the swarm.
      def ping
        pause = timeout / 10
        message&.then(&@send_message)
        pause = timeout / 2
      ensure
        @supervisor.loop.after(pause, early: pause / 2) { ping }
      end

      def alive?
        return true if @supervisor.config.watchdog == :supervisor || @supervisor.stopping?

        @alive_at = OS.now if StatusLine.ready?(@supervisor)
        OS.now - @alive_at < @supervisor.boot_limit
      end
    end
  end
end
