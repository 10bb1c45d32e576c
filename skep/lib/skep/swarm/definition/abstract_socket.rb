# frozen_string_literal: true

require "socket"

# Addresses of control sockets that need no directory: abstract sockets, unix(7), which Linux has. A
# swarm has one where its run directory can't be made or written to.
#
#   AbstractSocket.path("billing")    # => "@skep/4026531836/10001/billing.sock"
#   AbstractSocket.paths              # => those of this user's swarms; for root those of all users
#   AbstractSocket.sockaddr(path)     # of such a path, and of a file's
#   AbstractSocket.trusted?(socket)   # the user at its other end is this one, or root
#
# These names are the network's: containers may share it, so the process namespace is a part of the
# name. They have no owner either, so each end asks for the other's user.
module Skep
  class Swarm
    module Definition
      module AbstractSocket
        PREFIX = "@skep/"
        NAMES = "/proc/net/unix"
        private_constant :PREFIX, :NAMES

        class << self
          def path(name) = "#{PREFIX}#{namespace}/#{Process.euid}/#{name}.sock"
          def path?(path) = path.start_with?(PREFIX)

          # Where the user has named a run directory, the swarms are there, or don't run.
          def paths
            return [] if RunDirectory.named_by_environment?

            user = Process.euid.zero? ? /\d+/ : Process.euid
            own = %r{ (#{PREFIX}#{namespace}/#{user}/[\w.-]+\.sock)$}
            File.binread(NAMES).scan(own).flatten.uniq.sort
          rescue SystemCallError # not on this system
            []
          end

          def sockaddr(path)
            Socket.sockaddr_un(path?(path) ? "\0#{path.delete_prefix("@")}" : path)
          end

          # asking: this end is a client's. Then root trusts every user, as RunDirectory does.
          def trusted?(socket, asking: false)
            user = socket.getsockopt(:SOCKET, :PEERCRED).unpack("lLL")[1]
            [0, Process.euid].include?(user) || (asking && Process.euid.zero?)
          rescue SystemCallError, SocketError # it is gone; or this system doesn't name the peer
            false
          end

          private

          def namespace
            File.readlink("/proc/self/ns/pid")[/\d+/]
          rescue SystemCallError
            "0"
          end
        end
      end
    end
  end
end
