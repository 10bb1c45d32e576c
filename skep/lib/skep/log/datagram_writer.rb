# frozen_string_literal: true

require "socket"
require "tempfile"

# Sends datagrams to another program's UNIX socket: systemd's, journald's.
#
#   writer = DatagramWriter.new("/run/systemd/notify")   # "@name" is an abstract socket
#   writer.write("READY=1")        # lost if no program listens
#
# A datagram that is too large is sent as the descriptor of a file, as journald takes it
# (systemd.io/JOURNAL_NATIVE_PROTOCOL).
module Skep
  module Log
    class DatagramWriter < NonblockingWriter
      def initialize(path)
        super()
        @path = path.sub(/\A@/, "\0")
      end

      private

      # Sends a datagram; returns false if the receiver's queue is full.
      def write_some
        return false if send_datagram(@pending.first) == :wait_writable

        @bytes -= @pending.shift.bytesize
        true
      end

      def send_datagram(text)
        socket.sendmsg_nonblock(text, exception: false)
      rescue Errno::EMSGSIZE
        send_file(text)
      end

      def send_file(text)
        Tempfile.create("skep", File.writable?("/dev/shm") ? "/dev/shm" : "/tmp") do |file|
          File.unlink(file.path)
          file.write(text)
          file.flush
          rights = Socket::AncillaryData.unix_rights(file)
          socket.sendmsg_nonblock("", 0, nil, rights, exception: false)
        end
      end

      # The receiver has gone: the next datagram connects again.
      def discard_pending
        close_io
        super
      end

      def socket
        @io ||= Socket.new(:UNIX, :DGRAM).tap do |socket|
          socket.connect(Addrinfo.unix(@path, :DGRAM))
        rescue SystemCallError, ArgumentError
          socket.close
          raise
        end
      end

      def close_io
        @io&.close
        @io = nil
      end
    end
  end
end
