# frozen_string_literal: true

require "socket"

# The address of the option `metrics`: "127.0.0.1:9394", "[::]:9394", "localhost:9394" or
# "unix:/path". Port 0 is any free port.
#
#   address = Address.new("127.0.0.1:9394")
#   server = address.listen      # => TCPServer or UNIXServer; raises SystemCallError
#   Address.of(server)           # => "127.0.0.1:9394"
#   address.clear                # removes the socket's file
#
# No name is looked up: that could block the supervisor.
module Skep
  module Metrics
    class Address
      UMASK = 0o111 # every user that may enter the directory may connect
      private_constant :UMASK

      # Returns the address as an operator would write it.
      def self.of(server)
        address = server.local_address
        address.unix? ? "unix:#{address.unix_path}" : address.inspect_sockaddr
      end

      def initialize(text)
        @text = text
        @path = text.delete_prefix("unix:") if text.start_with?("unix:")
      end

      def listen
        @path ? listen_at_path : TCPServer.new(host, port)
      rescue ArgumentError, SocketError => e # a path that is too long, or "300.1.1.1"
        raise Errno::EINVAL, e.message
      end

      def clear
        File.unlink(@path) if @path && File.socket?(@path)
      rescue Errno::ENOENT, Errno::EACCES # it has gone, or this user may no longer remove it
        nil
      end

      def to_s = @text

      private

      def host = @text[/\A\[?(.*?)\]?:\d+\z/, 1].sub("localhost", "127.0.0.1")
      def port = @text[/\d+\z/].to_i

      def listen_at_path
        clear if File.socket?(@path) && unused?
        before = File.umask(UMASK)
        UNIXServer.new(@path)
      ensure
        File.umask(before) if before
      end

      # Returns true if no process listens there.
      def unused?
        UNIXSocket.new(@path).close
      rescue Errno::ECONNREFUSED
        true
      end
    end
  end
end
