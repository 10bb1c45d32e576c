# frozen_string_literal: true

require "socket"

module Skep
  class Web
    module Live
      # The response to /live, which lasts as long as the page is open. Where the server hands over
      # its socket (`rack.hijack`), the broadcaster gets it, so that an open page occupies no thread
      # of the server. Elsewhere, and over TLS, a thread of the server copies what the broadcaster
      # writes.
      #
      #   SseEndpoint.respond(broadcaster, request, session)   # => a Rack response
      class SseEndpoint
        PIECE = 65_536
        private_constant :PIECE

        def self.respond(broadcaster, request, session)
          reservation = broadcaster.reserve(session) or
            raise RequestRefused.new(503, "too many pages are open: close one of them first")
          stream = new(broadcaster, reservation)
          return HTTP::Response.event_stream(stream) unless request.get_header("rack.hijack?")

          HTTP::Response.event_stream([], "rack.hijack" => stream)
        end

        def initialize(broadcaster, reservation)
          @broadcaster = broadcaster
          @reservation = reservation
        end

        # The server calls it with its socket after it has written the headers.
        def call(socket)
          io = socket.respond_to?(:to_io) && socket.to_io
          return @broadcaster.add(io, @reservation) if io.equal?(socket) && io.is_a?(BasicSocket)

          begin
            each { |text| socket.write(text) }
          ensure
            socket.close
          end
        end

        def each
          reader, writer = UNIXSocket.pair
          @broadcaster.add(writer, @reservation)
          loop { yield reader.readpartial(PIECE) }
        rescue EOFError, SystemCallError # the broadcaster has closed it, or the browser has gone
          nil
        ensure
          reader&.close
        end
      end
    end
  end
end
