# frozen_string_literal: true

require "io/nonblock"
require "socket"

# A way to a running swarm's status socket.
#
#   Connection.open(path, 10.0)     # waits so long where many others ask too
#   Connection.try(path)            # never waits: Errno::EAGAIN where many others ask
#
# A full queue lets connect(2) fail with EAGAIN, after SO_SNDTIMEO if it may block: unix(7),
# socket(7). Ruby takes that for a connection under way, and then for one that is made: hence the
# look at who is there.
module Skep
  module Watch
    module Connection
      module_function

      def open(path, seconds) #: (String, Float?) -> Socket
        made do |socket|
          socket.nonblock = false
          socket.setsockopt(:SOCKET, :SNDTIMEO, [*(seconds || 0.0).divmod(1)].then do |whole, part|
            [whole, (part * 1e6).round].pack("l!2")
          end)
          socket.connect(Socket.sockaddr_un(path))
          socket.remote_address
        end
      end

      def try(path) #: (String) -> Socket
        made { |socket| socket.connect_nonblock(Socket.sockaddr_un(path)) }
      end

      # Of the process that listens, as this one sees it (0: it doesn't); nil where that isn't told.
      def pid_of(socket) #: (Socket) -> Integer?
        socket.getsockopt(:SOCKET, :PEERCRED).unpack("l").first
      rescue SystemCallError, SocketError # not on this system
        nil
      end

      # Is process `pid` of a swarm's answer the one that answers, and are its pids those that this
      # process sees? They are others where the swarm runs in another container. peer: pid_of its
      # socket, nil where that isn't told.
      def here?(peer, pid) #: (Integer?, Integer?) -> bool
        return !pid.nil? if peer.nil?

        peer == pid && [nil, namespace("self")].include?(namespace(pid))
      end

      # nil where that isn't told: another user's, or no /proc.
      def namespace(pid)
        File.readlink("/proc/#{pid}/ns/pid")
      rescue SystemCallError
        nil
      end
      private_class_method :namespace

      def made #: () { (Socket) -> void } -> Socket
        socket = Socket.new(:UNIX, :STREAM)
        yield socket
        opened = socket
      ensure
        socket&.close unless opened
      end
      private_class_method :made
    end
  end
end
