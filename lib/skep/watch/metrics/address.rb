# frozen_string_literal: true

require "socket"

# Where metrics are served: "127.0.0.1:9394", "[::]:9394", "localhost:9394" or "unix:/path". Port 0
# is any that is free.
#
#   address = Address.new("127.0.0.1:9394")
#   server = address.listen      # => TCPServer or UNIXServer; raises SystemCallError
#   Address.of(server)           # => "127.0.0.1:9394"
#   address.clear                # what is left of it in the file system
#
# No name is looked up, so nothing of it takes any time.
module Skep
  module Watch
    module Metrics
      class Address
        EVERYBODY = 0o111 # umask: who may enter the directory may ask
        private_constant :EVERYBODY

        # As a person would write it.
        def self.of(server) #: (BasicSocket) -> String
          address = server.local_address
          address.unix? ? "unix:#{address.unix_path}" : address.inspect_sockaddr
        end

        def initialize(text) #: (String) -> void
          @text = text
          @path = text.delete_prefix("unix:") if text.start_with?("unix:")
        end

        def listen #: () -> BasicSocket
          @path ? listen_at_path : TCPServer.new(host, port)
        rescue ArgumentError, SocketError => e # a path that is too long, or "300.1.1.1"
          raise Errno::EINVAL, e.message
        end

        def clear #: () -> void
          File.unlink(@path) if @path && File.socket?(@path)
        rescue Errno::ENOENT, Errno::EACCES # gone, or its directory isn't ours any more
          nil
        end

        def to_s = @text #: () -> String

        private

        def host = @text[/\A\[?(.*?)\]?:\d+\z/, 1].sub("localhost", "127.0.0.1")
        def port = @text[/\d+\z/].to_i

        def listen_at_path
          clear if File.socket?(@path) && deserted?
          before = File.umask(EVERYBODY)
          UNIXServer.new(@path)
        ensure
          File.umask(before) if before
        end

        def deserted?
          UNIXSocket.new(@path).close
        rescue Errno::ECONNREFUSED
          true
        end
      end
    end
  end
end
