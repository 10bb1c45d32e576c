# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Which UNIX sockets are connected to which: the kernel's own table, asked over netlink.
      #
      #   UnixPeers.all   # => {2185675 => 2185676, 2185676 => 2185675}, by inode; {} where it can't
      #
      # Knows the sockets of this process' network namespace. Source: sock_diag(7).
      module UnixPeers
        NETLINK = 16               # AF_NETLINK
        SOCK_DIAG = 4              # NETLINK_SOCK_DIAG
        BY_FAMILY = 20             # SOCK_DIAG_BY_FAMILY
        DUMP = 0x301               # NLM_F_REQUEST | NLM_F_DUMP
        UNIX = 1                   # AF_UNIX
        SHOW_PEER = 4              # UDIAG_SHOW_PEER
        PEER = 2                   # UNIX_DIAG_PEER
        ANY = 0xffffffff           # All states; no cookie.
        HEADER, MESSAGE, ATTRIBUTE = 16, 16, 4
        SECONDS = 1.0              # The kernel answers at once, or another namespace's never.
        constants.each { |name| private_constant name }

        #: () -> Hash[Integer, Integer]
        def self.all
          require "socket"
          socket = Socket.new(NETLINK, Socket::SOCK_RAW, SOCK_DIAG)
          socket.send(request, 0)
          answers(socket)
        rescue SystemCallError, LoadError, EOFError
          {} # Not Linux, or not built into this kernel, or a sandbox.
        ensure
          socket&.close
        end

        # Who was at the other end of this process' socket when it was connected, or made the pair;
        # nil where nobody can tell.
        #
        #: (Integer fd) -> Integer?
        def self.pid(fd)
          socket = BasicSocket.for_fd(fd)
          socket.autoclose = false
          pid = socket.getsockopt(:SOCKET, :PEERCRED).unpack("i").first
          pid if pid.positive?
        rescue SystemCallError, SocketError
          nil # Closed since, not connected by anybody, or not Linux.
        end

        #: () -> String
        def self.request
          body = [UNIX, 0, 0, ANY, 0, SHOW_PEER, ANY, ANY].pack("CCSL5")
          [HEADER + body.bytesize, BY_FAMILY, DUMP, 1, 0].pack("LSSLL") + body
        end

        #: (Socket) -> Hash[Integer, Integer]
        def self.answers(socket)
          peers = {}
          while socket.wait_readable(SECONDS)
            break unless note_all(socket.recv(1 << 16), peers)
          end
          peers
        end

        # False when these were the last.
        #
        #: (String messages, Hash[Integer, Integer] peers) -> bool
        def self.note_all(messages, peers)
          until messages.empty?
            size, type = messages.unpack("LS")
            return false unless type == BY_FAMILY && size >= HEADER

            note(messages.byteslice(HEADER...size), peers)
            messages = rest(messages, size)
          end
          true
        end

        #: (String message, Hash[Integer, Integer] peers) -> void
        def self.note(message, peers)
          attributes = message.byteslice(MESSAGE..).to_s
          while attributes.bytesize > ATTRIBUTE
            size, type = attributes.unpack("SS")
            break if size < ATTRIBUTE

            peer = attributes.byteslice(ATTRIBUTE...size).unpack1("L") if type == PEER
            peers[message.unpack1("x4L")] = peer if peer
            attributes = rest(attributes, size)
          end
        end

        # What follows a part of so many bytes: each begins at a multiple of four.
        #
        #: (String, Integer size) -> String
        def self.rest(bytes, size) = bytes.byteslice((size + 3) / 4 * 4..).to_s
        private_class_method :request, :answers, :note_all, :note, :rest
      end
      private_constant :UnixPeers
    end
  end
end
