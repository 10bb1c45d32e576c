# frozen_string_literal: true

require "json"
require "socket"

# Asks a running swarm over its status socket.
#
#   Query.new("/run/skep/billing.sock").ask("status")   # => {"status" => {…}}, or Query::Failed
module Skep
  module Watch
    class Query
      SECONDS = 10.0
      private_constant :SECONDS

      class Failed < Skep::Error
        def initialize(path:, error:)
          super("no swarm answers at #{path}, #{error}: " \
                "is it running? name it, or its socket with --control PATH")
        end
      end

      def initialize(path) #: (String) -> void
        @path = path
      end

      def ask(command) #: (String) -> Hash[String, untyped]
        UNIXSocket.open(@path) do |socket|
          socket.write("#{JSON.generate({ v: Status::VERSION, command: })}\n")
          JSON.parse(read(socket), max_nesting: false)
        end
      rescue SystemCallError, ArgumentError, JSON::ParserError => e
        raise Failed.new(path: @path, error: e.message.sub(/ - .*/, "").downcase)
      end

      private

      def read(socket)
        deadline = OS.now + SECONDS
        answer = +""
        loop do
          readable = socket.wait_readable([deadline - OS.now, 0].max)
          raise Failed.new(path: @path, error: "it is silent") unless readable

          answer << socket.readpartial(65_536)
        end
      rescue EOFError
        answer
      end
    end
  end
end
