# frozen_string_literal: true

require "socket"
require "tempfile"

# Sends datagrams to a UNIX socket of somebody else's, in order and without ever blocking on it:
# systemd's, journald's.
#
#   post = Post.new("/run/systemd/notify")   # "@name": an abstract one
#   post.loop = loop           # from here on what found no room is sent once there is some
#   post.put("READY=1")        # where nobody listens it is lost
#   post.waits?                # is something yet to be sent?
#   post.lost                  # => how many were lost and nobody was told of
#   post.finish(1.0)           # at the end, waits for a slow reader so long
#   post.close
#
# What is too large for a datagram goes as the descriptor of a file that has it, as journald takes
# it (systemd.io/JOURNAL_NATIVE_PROTOCOL).
module Skep
  module Watch
    class Post
      BACKLOG = 1024 * 1024
      private_constant :BACKLOG

      attr_writer :loop #: OS::EventLoop
      attr_accessor :lost #: Integer

      def initialize(path) #: (String) -> void
        @path = path.sub(/\A@/, "\0")
        @letters = []
        @bytes = @lost = @telling = 0
      end

      # telling: so many lost ones are told of once this one isn't lost itself.
      def put(letter, telling: 0) #: (String, ?telling: Integer) -> void
        return @lost += 1 if @bytes + letter.bytesize > BACKLOG

        @letters << letter.b
        @bytes += letter.bytesize
        @lost -= telling
        @telling += telling
        drain
      end

      def waits? = @letters.any? #: () -> bool

      # What is yet to be sent, for the next program.
      def dump #: () -> Hash[String, untyped]
        drain
        { "rest" => @letters.map { |letter| [letter].pack("m0") }, "lost" => @lost + @telling }
      end

      def restore(plain) #: (Hash[String, untyped]) -> void
        @lost += plain["lost"]
        letters = plain["rest"].is_a?(Array) ? plain["rest"] : [] # or it was an Outlet's
        letters.each { |letter| put(letter.unpack1("m0")) }
      end

      def finish(seconds) #: (Float) -> void
        deadline = OS.now + seconds
        drain
        drain while waits? && @socket.wait_writable([deadline - OS.now, 0].max)
      end

      def close #: () -> void
        rest_no_more
        @socket&.close
        @socket = nil
      end

      # Sends what can be sent now.
      def drain #: () -> void
        send_first while waits?
        rest_no_more
      rescue IO::WaitWritable
        wait_for_room
      rescue SystemCallError, ArgumentError # nobody listens (any more), or the path is too long
        @lost += @letters.size + @telling
        @letters.clear
        @bytes = 0
        close
      end

      private

      def send_first
        deliver(@letters.first)
        @bytes -= @letters.shift.bytesize
      end

      def deliver(letter)
        socket.sendmsg_nonblock(letter)
      rescue Errno::EMSGSIZE
        enclose(letter)
      end

      def enclose(letter)
        Tempfile.create("skep", File.writable?("/dev/shm") ? "/dev/shm" : "/tmp") do |file|
          File.unlink(file.path)
          file.write(letter)
          file.flush
          socket.sendmsg_nonblock("", 0, nil, Socket::AncillaryData.unix_rights(file))
        end
      end

      def socket
        @socket ||= Socket.new(:UNIX, :DGRAM).tap do |socket|
          socket.connect(Addrinfo.unix(@path, :DGRAM))
        rescue SystemCallError, ArgumentError
          socket.close
          raise
        end
      end

      def rest_no_more
        @telling = 0
        @watch&.cancel
        @watch = nil
      end

      def wait_for_room
        @watch ||= @loop&.watch(@socket, write: true) { drain }&.tap { |watch| watch.read = false }
      end
    end
  end
end
