# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # The other end of a connected socket of this process, as getpeername(2) returns it.
      #
      #   peer = SocketPeer.of(7)   # nil for one that isn't connected, and for other families
      #   peer.family               # => "TCP", "UDP" or "UNIX"
      #   peer.address              # => "127.0.0.1:9092"; of a UNIX socket its path, or nil
      #   peer.pid                  # of a UNIX socket: which process connected or made it, or nil
      #   peer.stream?              # false if each message stays whole, as UDP's do
      #   peer.pair?                # made by socketpair(2)
      class SocketPeer < Struct.new(:family, :address, :pid, :stream, :pair, keyword_init: true)
        alias stream? stream
        alias pair? pair

        class << self
          def of(fd)
            require "socket" # Not before a socket is there.
            socket = BasicSocket.for_fd(fd)
            socket.autoclose = false
            address = socket.remote_address
            stream = socket.getsockopt(:SOCKET, :TYPE).int == Socket::SOCK_STREAM
            return internet(address, stream) if address.ip?

            unix(socket, address, stream) if address.unix?
          rescue SystemCallError, SocketError, IOError
            nil # Not connected, or closed since.
          end

          private

          def internet(address, stream)
            new(family: stream ? "TCP" : "UDP", address: address.inspect_sockaddr, stream:,
                pair: false)
          end

          # Only the sockets of a pair are nameless at both ends.
          def unix(socket, address, stream)
            path = path(address)
            new(family: "UNIX", address: path, pid: pid(socket), stream:,
                pair: path.nil? && path(socket.local_address).nil?)
          end

          # An abstract name begins with a zero byte, by convention shown as "@".
          def path(address)
            path = address.unix_path.sub(/\A\0/, "@").scrub
            path unless path.empty?
          end

          def pid(socket)
            pid = socket.getsockopt(:SOCKET, :PEERCRED).unpack("i").first
            pid if pid.positive?
          rescue SystemCallError, SocketError
            nil # Not Linux.
          end
        end
      end
      private_constant :SocketPeer
    end
  end
end
