# frozen_string_literal: true

require "socket"

# The supervisor's part: it binds the address, accepts the clients, and answers health checks from
# its own facts (ProbeSession): neither the helper nor user code can delay them. It passes all other
# clients on over a socket pair, whose other end is lent to each helper. A client that connects
# while a helper is replaced waits in that pair.
#
#   ListenerSocket.new    # an observer of a swarm
#
# If the address can't be bound, the swarm runs on: that is an event, and the bind is tried again.
module Skep
  module Metrics
    class ListenerSocket < Swarm::Supervisor::Observer
      RETRY_INTERVAL = 1.0 # seconds
      MAX_CLIENTS = 64 # that haven't sent a request
      REASONS = { Errno::EADDRINUSE => "another process uses it",
                  Errno::EACCES => "this user has no permission",
                  Errno::EADDRNOTAVAIL => "it is not an address of this host" }.freeze
      HINT = "free it (the bind is tried again each second), or name another with metrics:"
      private_constant :RETRY_INTERVAL, :MAX_CLIENTS, :REASONS, :HINT

      def initialize
        super
        @sessions = []
      end

      def configured(supervisor)
        @supervisor = supervisor
        @text = supervisor.config.metrics
        @address = @text && Address.new(@text)
        supervisor.loop.after(0) { listen } if @address # the swarm's own events come first
      end

      def close_in_child
        @sessions.each(&:close_in_child)
        [@socket, @sender, @receiver].each { |socket| socket&.close }
      end

      def on_close
        return unless @socket

        @sessions.dup.each(&:close)
        @address.clear
        [@socket, @sender, @receiver].each(&:close)
      end

      private

      def listen
        @socket = @address.listen
        @sender, @receiver = UNIXSocket.pair
        @supervisor.events.publish(:metrics_listening, address: Address.of(@socket))
        accept_clients
        @supervisor.node_pool.serve(@receiver)
      rescue SystemCallError => e
        report(e)
        @supervisor.loop.after(RETRY_INTERVAL) { listen unless @supervisor.stopping? }
      end

      def accept_clients
        @acceptor = Swarm::Supervisor::Acceptor.new(@socket, @supervisor.loop) do |client|
          accept(client)
        end
      end

      # Too many clients that send nothing: the one that has been silent for longest is closed.
      def accept(client)
        @sessions.first.close if @sessions.size >= MAX_CLIENTS
        session = ProbeSession.new(client, @supervisor.loop, status: -> { @supervisor.condition },
                                   pass: ->(socket) { PassedConnections.pass(@sender, socket) },
                                   on_close: @sessions.method(:delete))
        @sessions << session
        session.receive
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
