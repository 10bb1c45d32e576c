# frozen_string_literal: true

require "socket"

module Skep
  module Watch
    class Web
      # The answer to /live, which goes on for as long as the page is open: the server's socket is
      # given to the hub where the server gives it (`rack.hijack`), so that an open page keeps none
      # of its threads. Elsewhere, and over TLS, a thread of its passes on what the hub writes.
      #
      #   Stream.reply(hub, request, visitor)   # => a Rack response
      class Stream
        PIECE = 65_536
        private_constant :PIECE

        #: (Hub, Request, Visitor) -> [Integer, Hash, untyped]
        def self.reply(hub, request, visitor)
          place = hub.place(visitor.badge.cookie) or
            raise Refused.new(503, "too many pages are open: close one of them first")
          headers, stream = Reply.stream_headers, new(hub, place)
          return [200, headers, stream] unless request.env["rack.hijack?"]

          [200, { **headers, "rack.hijack" => stream }, []]
        end

        def initialize(hub, place) #: (Hub, Places::Place) -> void
          @hub = hub
          @place = place
        end

        # The server's socket, once the headers are written.
        def call(socket) #: (untyped) -> void
          io = socket.respond_to?(:to_io) && socket.to_io
          return @hub.open(io, @place) if io.equal?(socket) && io.is_a?(BasicSocket)

          begin
            each { |text| socket.write(text) }
          ensure
            socket.close
          end
        end

        def each #: () { (String) -> void } -> void
          reader, writer = UNIXSocket.pair
          @hub.open(writer, @place)
          loop { yield reader.readpartial(PIECE) }
        rescue EOFError, SystemCallError # the hub has closed it, or the browser has gone
          nil
        ensure
          reader&.close
        end
      end
      private_constant :Stream
    end
  end
end
