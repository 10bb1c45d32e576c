# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Connected sockets. Those that listen are meant to be inherited, and pass.
      class ConnectedSockets
        WHAT = "sockets"
        STREAM = "both processes would read and write one stream, and mix it up: " \
                 "connect in each child, by Skep.on_fork for one, and close it before the fork"
        WHOLE = "messages stay whole, but an answer goes to whichever process reads first: " \
                "connect in each child if there are answers"
        PAIR = "a child shares it, and may read what was meant for the parent: " \
               "make it anew in each child, by Skep.on_fork for one"
        STRAY = "it was inherited, or its library doesn't close it on exec: " \
                "see that a child doesn't use it"
        private_constant :STREAM, :WHOLE, :PAIR, :STRAY

        #: (ProcessInventory) -> void
        def initialize(inventory)
          @inventory = inventory
        end

        #: () -> Array[Finding]
        def findings
          return ruby_sockets unless @inventory.sees_descriptors?

          copies = @inventory.connected.group_by { |one| @inventory.sockets[one.inode] }
          pairs, lone = copies.partition { |entry, _| mine?(entry) }
          pair(pairs) + lone.map { |entry, held| find(entry, held) }
        end

        private

        # Is its other end in this process, too?
        #
        #: (SocketTable::Entry) -> bool
        def mine?(entry) = !entry.peer_inode.nil? && !@inventory.sockets[entry.peer_inode].nil?

        #: (Array[[SocketTable::Entry, Array[FileDescriptor]]]) -> Array[Finding]
        def pair(pairs)
          return [] if pairs.empty?

          [Finding.new(kind: :pair, severity: :note, advice: PAIR,
                       what: "UNIX sockets with both ends in this process",
                       where: pairs.flat_map(&:last).join(", "))]
        end

        #: (SocketTable::Entry, Array[FileDescriptor]) -> Finding
        def find(entry, held)
          io = held.filter_map { |one| @inventory.io(one.fd) }.first
          kind, severity, advice = judge(entry, io, held.first)
          Finding.new(kind:, severity:, advice:, what: "a #{entry.family} socket connected to " \
                                                       "#{peer(entry, held.first)}",
                      where: where(io, held))
        end

        #: (SocketTable::Entry, IO?, FileDescriptor) -> [Symbol, Symbol, String]
        def judge(entry, io, descriptor)
          return [:datagram, :note, WHOLE] if entry.whole?
          return [:socket, :note, STRAY] unless io || descriptor.close_on_exec?

          [:socket, :breaks, STREAM]
        end

        #: (SocketTable::Entry, FileDescriptor) -> String
        def peer(entry, descriptor)
          return entry.peer if entry.peer

          pid = UnixPeers.pid(descriptor.fd)
          pid == Process.pid ? "what this process handed on" : "pid #{pid || "unknown"}"
        end

        #: (IO?, Array[FileDescriptor]) -> String
        def where(io, held)
          maker = io ? @inventory.place(io) || "a #{io.class}" : "not opened by Ruby"
          [maker, *held].join(", ")
        end

        # Where there is no table of descriptors.
        #
        #: () -> Array[Finding]
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
