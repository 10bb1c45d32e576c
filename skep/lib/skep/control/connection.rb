# frozen_string_literal: true

require "io/nonblock"
require "socket"

# A client's connection to a swarm's control socket, with what was received and not yet taken.
#
#   connection = Connection.connect(path, 10.0)     # waits while the server's queue is full
#   connection = Connection.connect_nonblock(path)  # never waits: Errno::EAGAIN while it is full
#   connection.write(command: "status")             # sends one line of JSON
#   connection.receive                              # reads what has arrived; false at the end
#   connection.lines                                # => the complete lines of it
#   connection.rest                                 # => what follows the last complete line
#
# A full queue makes connect(2) fail with EAGAIN, after SO_SNDTIMEO if the socket may block:
# unix(7), socket(7). Ruby considers that a connection in progress, and then established: `connect`
# therefore asks for the remote address.
module Skep
  module Control
    class Connection
      CHUNK = 65_536
      MAX_BYTES = 64 * 1024 * 1024 # of an answer, or of an event
      ABSTRACT = Swarm::Definition::AbstractSocket
      private_constant :CHUNK, :MAX_BYTES, :ABSTRACT

      class << self
        # timeout: nil waits for ever.
        def connect(path, timeout)
          open_socket(path) do |socket, address|
            socket.nonblock = false
            seconds, part = (timeout || 0.0).divmod(1)
            socket.setsockopt(:SOCKET, :SNDTIMEO, [seconds, (part * 1e6).round].pack("l!2"))
            socket.connect(address)
            socket.remote_address
          end
        end

        def connect_nonblock(path)
          open_socket(path) { |socket, address| socket.connect_nonblock(address) }
        end

        # Returns true if process `pid` of a status is the process that answered (peer), and the
        # status' pids are those that this process sees. In another container they aren't. A nil
        # peer means that the system doesn't report it.
        def local?(peer, pid)
          return !pid.nil? if peer.nil?

          peer == pid && [nil, namespace("self")].include?(namespace(pid))
        end

        private

        # Any user may listen at an abstract address: it must be one that this process trusts.
        def open_socket(path)
          socket = Socket.new(:UNIX, :STREAM)
          yield socket, ABSTRACT.sockaddr(path)
          trusted = !ABSTRACT.path?(path) || ABSTRACT.trusted?(socket, asking: true)
          raise Errno::EACCES unless trusted

          connection = new(socket)
        ensure
          socket&.close unless connection
        end

        # nil if this can't be read: another user's process, or no /proc.
        def namespace(pid)
          File.readlink("/proc/#{pid}/ns/pid")
        rescue SystemCallError
          nil
        end
      end

      def initialize(socket)
        @socket = socket
        @buffer = String.new(encoding: Encoding::BINARY)
      end

      def to_io = @socket # readable when there is something to receive, and at the end
      def close = @socket.close

      # Returns the pid of the listening process, 0 if it isn't visible to this one, or nil if the
      # system doesn't report it.
      def peer
        return if @socket.closed?

        @socket.getsockopt(:SOCKET, :PEERCRED).unpack("l").first
      rescue SystemCallError, SocketError # not on this system, or the connection was reset
        nil
      end

      def write(**facts) = @socket.write_nonblock(Control.line(**facts))

      # Reads what has arrived, without waiting. Returns false at the end. Raises InvalidAnswer if
      # it is more than a swarm would send.
      def receive
        until (bytes = @socket.read_nonblock(CHUNK, exception: false)) == :wait_readable
          return false if bytes.nil?

          @buffer << bytes
          raise InvalidAnswer if @buffer.bytesize > MAX_BYTES
        end
        true
      rescue Errno::ECONNRESET # an end like any other
        false
      end

      def lines
        *complete, rest = @buffer.split("\n", -1)
        @buffer = rest || String.new(encoding: Encoding::BINARY)
        complete.map { |line| line.force_encoding(Encoding::UTF_8) }
      end

      def rest = @buffer.dup.force_encoding(Encoding::UTF_8)
    end
  end
end
