# frozen_string_literal: true

require "socket"

# The connections that the supervisor has accepted and passed on, in the helper: for Puma a socket
# that listens.
#
#   ours, theirs = UNIXSocket.pair
#   PassedConnections.pass(ours, client)    # => false: there is no room; never waits
#   listener = PassedConnections.new(theirs)
#   listener.accept_nonblock                # => Socket; raises IO::WaitReadable if there is none
#
# What was passed on and not accepted waits in the socket pair, and outlives the helper.
module Skep
  module Metrics
    class PassedConnections
      # Closes nothing: the caller's descriptor stays its own.
      def self.pass(sender, client)
        rights = Socket::AncillaryData.unix_rights(client)
        sender.sendmsg_nonblock("+", 0, nil, rights, exception: false) != :wait_writable
      rescue Errno::ETOOMANYREFS, Errno::ENOBUFS, Errno::ENOMEM # see unix(7)
        false
      end

      def initialize(socket)
        @socket = socket
      end

      # Without a free descriptor the kernel would drop the connection: it is left to wait then.
      def accept_nonblock
        @socket.dup.close
        bytes, _, _, rights = @socket.recvmsg_nonblock(1, 0, 256, scm_rights: true)
        raise EOFError, "the supervisor has gone" if bytes.nil? || bytes.empty?

        rights&.unix_rights&.first or raise IO::EAGAINWaitReadable
      end

      def to_io = @socket
      def close = @socket.close
      def closed? = @socket.closed?
    end
  end
end
