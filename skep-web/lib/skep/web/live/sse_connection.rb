# frozen_string_literal: true

module Skep
  class Web
    module Live
      # An open page: the socket over which a browser receives server-sent events. Writing never
      # waits. A browser that reads too slowly is disconnected, and reconnects automatically. So is
      # one whose session expires: it gets another stream only if it has another session.
      #
      #   connection = SseConnection.new(socket, loop) { |connection| … }   # when it has closed
      #   connection.write(SseConnection.frame(facts))
      #   connection.write(frame, whole: true)
      #   connection.close
      #
      # It reads too slowly if it leaves BACKLOG bytes unread, beside frames that have a swarm's
      # whole state: one of thousands of failing partitions is larger than that, and a browser that
      # is disconnected gets another one.
      class SseConnection
        BACKLOG = 2 * 1024 * 1024 # bytes
        private_constant :BACKLOG

        # Returns one event. JSON contains no end of line.
        def self.frame(facts) = "data: #{JSON.generate(facts)}\n\n".b.freeze

        attr_reader :reservation

        def initialize(socket, loop, reservation: nil, &on_close)
          @socket = socket
          @reservation = reservation
          @on_close = on_close
          @out = String.new(encoding: Encoding::BINARY)
          @limit = BACKLOG
          @watch = loop.watch(socket) { |readable, writable| ready(readable, writable) }
          ends_at = reservation&.ends_at
          @expiry = loop.at(ends_at) { disconnect } if ends_at
        end

        def write(frame, whole: false)
          return if @socket.closed?

          return disconnect if @out.bytesize > @limit # whatever the size of one frame

          @limit += frame.bytesize if whole
          @out << frame
          flush
        rescue SystemCallError, IOError # the browser has gone
          disconnect
        end

        # Closes the socket; returns nil if it was closed before.
        def close
          return if @socket.closed?

          @watch.cancel
          @expiry&.cancel
          @socket.close
          true
        end

        # Closes the socket and calls the block.
        def disconnect = close && @on_close.call(self)

        private

        def ready(readable, writable)
          flush if writable
          read if readable && !@socket.closed?
        rescue SystemCallError, IOError # the browser has gone
          disconnect
        end

        # A browser sends nothing after its request: all that comes is the end.
        def read
          disconnect if @socket.read_nonblock(4096, exception: false).nil?
        end

        def flush
          return if @out.empty?

          written = @socket.write_nonblock(@out, exception: false)
          @out = @out.byteslice(written..) unless written == :wait_writable
          @limit = BACKLOG if @out.empty?
          @watch.write = !@out.empty?
        end
      end
    end
  end
end
