# frozen_string_literal: true

# The supervisor's part: it binds the address and lends the socket to each helper. A client that
# connects while a helper is replaced waits in the socket's queue. The supervisor accepts no client.
#
#   ListenerSocket.new    # an observer of a swarm
#
# If the address can't be bound, the swarm runs on: that is an event, and the bind is tried again.
module Skep
  module Metrics
    class ListenerSocket < Swarm::Supervisor::Observer
      RETRY_INTERVAL = 1.0 # seconds
      REASONS = { Errno::EADDRINUSE => "another process uses it",
                  Errno::EACCES => "this user has no permission",
                  Errno::EADDRNOTAVAIL => "it is not an address of this host" }.freeze
      HINT = "free it (the bind is tried again each second), or name another with metrics:"
      private_constant :RETRY_INTERVAL, :REASONS, :HINT

      def configured(supervisor)
        take(supervisor)
        supervisor.loop.after(0) { listen } if @address # the swarm's own events come first
      end

      def dump(state_file)
        @socket && state_file.lend(@socket)
      end

      def on_resume(supervisor, kept, state_file)
        return configured(supervisor) unless kept

        take(supervisor)
        @socket = state_file.take(kept, kind)
        supervisor.node_pool.serve(@socket, lent: true)
      end

      def close_in_child = @socket&.close

      def on_close
        return unless @socket

        @address.clear
        @socket.close
      end

      private

      def take(supervisor)
        @supervisor = supervisor
        @text = supervisor.config.metrics
        @address = @text && Address.new(@text)
      end

      def kind = @text.start_with?("unix:") ? UNIXServer : TCPServer

      def listen
        @socket = @address.listen
        @supervisor.events.publish(:metrics_listening, address: Address.of(@socket))
        @supervisor.node_pool.serve(@socket)
      rescue SystemCallError => e
        report(e)
        @supervisor.loop.after(RETRY_INTERVAL) { listen unless @supervisor.stopping? }
      end

      # Once for each reason.
      def report(error)
        reason = REASONS.fetch(error.class) { error.message.sub(/ - .*/, "").downcase }
        return if @reported == reason

        @reported = reason
        error = "metrics can't be served at #{@text}: #{reason}"
        @supervisor.events.publish(:metrics_unavailable, level: :error, address: @text, error:,
                                                         hint: HINT)
      end
    end
  end
end
