# frozen_string_literal: true

# The supervisor's part: it binds the address, and lends the socket to the helper and to each that
# follows it. So nobody is refused while one helper follows another: who connects meanwhile waits in
# the socket's queue. It accepts nobody itself.
#
#   Door.new    # one of those who watch a swarm
#
# An address that can't be had costs the swarm nothing: it is told, and tried again.
module Skep
  module Watch
    module Metrics
      class Door < Swarm::Supervisor::Observer
        AGAIN = 1.0 # seconds
        WHY = { Errno::EADDRINUSE => "somebody else has it",
                Errno::EACCES => "this user may not",
                Errno::EADDRNOTAVAIL => "it is no address of this host" }.freeze
        private_constant :AGAIN, :WHY

        def configured(supervisor) #: (Swarm::Supervisor) -> void
          know(supervisor)
          supervisor.loop.after(0) { open } if @address # the swarm's own news come first
        end

        def dump(state_file) #: (Swarm::Rollout::Upgrade::StateFile) -> Integer?
          @socket && state_file.lend(@socket)
        end

        #: (Swarm::Supervisor, Integer?, Swarm::Rollout::Upgrade::StateFile) -> void
        def resumed(supervisor, kept, state_file)
          return configured(supervisor) unless kept

          know(supervisor)
          @socket = state_file.take(kept, kind)
          supervisor.node_pool.serve(@socket, anew: false)
        end

        def disown = @socket&.close #: () -> void

        def closed #: () -> void
          return unless @socket

          @address.clear
          @socket.close
        end

        private

        def know(supervisor)
          @supervisor = supervisor
          @text = supervisor.config.metrics
          @address = @text && Address.new(@text)
        end

        def kind = @text.start_with?("unix:") ? UNIXServer : TCPServer

        def open
          @socket = @address.listen
          @supervisor.events.publish(:metrics_listening, address: Address.of(@socket))
          @supervisor.node_pool.serve(@socket)
        rescue SystemCallError => e
          complain(e)
          @supervisor.loop.after(AGAIN) { open unless @supervisor.stopping? }
        end

        # Once, until it is another reason.
        def complain(error)
          why = WHY.fetch(error.class) { error.message.sub(/ - .*/, "").downcase }
          return if @complaint == why

          @complaint = why
          message = "metrics can't be served at #{@text}: #{why}; " \
                    "free it, which is noticed, or name another with metrics:"
          @supervisor.events.publish(:metrics_unavailable, level: :error, address: @text, message:)
        end
      end
    end
  end
end
