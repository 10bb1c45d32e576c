# frozen_string_literal: true

module Skep
  module CLI
    class Doctor < Command
      # Maps the inode of each connected UNIX socket to that of its peer. The kernel's table is read
      # over netlink.
      #
      #   UnixPeers.all   # => {2185675 => 2185676, 2185676 => 2185675}; {} if it can't be read
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
        SECONDS = 1.0              # The kernel answers at once; that of another namespace never.
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

        # Returns false for the last messages.
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

        # Returns what follows a part of that size. Parts are aligned to four bytes.
        #
        #: (String, Integer size) -> String
        def self.rest(bytes, size) = bytes.byteslice((size + 3) / 4 * 4..).to_s
        private_class_method :request, :answers, :note_all, :note, :rest
      end
      private_constant :UnixPeers
    end
  end
end
