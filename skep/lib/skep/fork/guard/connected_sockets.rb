# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Finds connected sockets. Listening sockets are meant to be inherited, and are skipped.
      class ConnectedSockets
        WHAT = "sockets"
        STREAM = "both processes would read and write one stream, and mix it up: " \
                 "connect in each child, by Skep.on_fork for one, and close it before the fork"
        WHOLE = "messages stay whole, but an answer goes to whichever process reads first: " \
                "connect in each child if there are answers"
        PAIR = "a child shares them, and may read what was meant for the parent: " \
               "create new ones in each child, by Skep.on_fork for one"
        STRAY = "it was inherited, or its library doesn't close it on exec: " \
                "see that a child doesn't use it"
        private_constant :STREAM, :WHOLE, :PAIR, :STRAY

        def initialize(inventory)
          @inventory = inventory
        end

        def findings
          return ruby_sockets unless @inventory.sees_descriptors?

          copies = @inventory.connected.group_by(&:inode).values
          pairs, lone = copies.partition { |held| @inventory.peer(held.first).pair? }
          pair(pairs) + lone.map { |held| find(@inventory.peer(held.first), held) }
        end

        private

        # A note only: mostly both ends are in this process, but the kernel does not show it.
        def pair(pairs)
          return [] if pairs.empty?

          [Finding.new(kind: :pair, severity: :note, advice: PAIR, what: "pairs of UNIX sockets",
                       where: pairs.flatten.join(", "))]
        end

        def find(peer, held)
          io = held.filter_map { |one| @inventory.io(one.fd) }.first
          kind, severity, advice = judge(peer, io, held.first)
          address = peer.address || "pid #{peer.pid || "unknown"}"
          Finding.new(kind:, severity:, advice:, where: where(io, held),
                      what: "a #{peer.family} socket connected to #{address}")
        end

        def judge(peer, io, descriptor)
          return [:datagram, :note, WHOLE] unless peer.stream?
          return [:socket, :note, STRAY] unless io || descriptor.close_on_exec?

          [:socket, :breaks, STREAM]
        end

        def where(io, held)
          maker = io ? @inventory.place(io) || "a #{io.class}" : "not opened by Ruby"
          [maker, *held].join(", ")
        end

        # Ruby's own sockets, if the system lists no descriptors.
        def ruby_sockets
          @inventory.objects("BasicSocket").filter_map do |socket|
            peer = socket.remote_address.inspect_sockaddr
            Finding.new(kind: :socket, what: "a socket connected to #{peer}", advice: STREAM,
                        where: where(socket, []))
          rescue SystemCallError, IOError
            next # Closed, or not connected.
          end
        end
      end
      private_constant :ConnectedSockets
    end
  end
end
